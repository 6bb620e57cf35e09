"""Where a member of a group stands: what the parts of its machine (allreduce.py) have in common."""

from __future__ import annotations

from collections.abc import Iterable

from backend.protocols.mesh.allreduce.arrived import Arrived
from backend.protocols.mesh.allreduce.frames import GroupFrames
from backend.protocols.mesh.allreduce.group_events import Control, Effect, SendToMembers, Without
from backend.protocols.mesh.allreduce.leadership import Leadership
from backend.protocols.mesh.allreduce.links import LinkBook, Said
from backend.protocols.mesh.allreduce.plan import Ballot, GroupPlan, MemberAnswer
from backend.protocols.mesh.allreduce.step import GroupStep
from backend.wire.mesh_messages import Group
from backend.wire.peer_messages import Change, Config, Holds


class GroupState:
    """Of the member at `place` of the group of `order`, which it got at `now`. Owned by the machine.

    `promised` is the ballot below which it takes part in nothing, `accepted` what it accepted last, besides
    the step that it knows; `changes` are who wanted another view, and which. It is `changing` until a leader
    asks it, and has a `leading` only while it leads itself. Nobody goes on with fewer than `least` members.
    Steps begin to be slow at `slow_at`, and the group's time `ends`: seconds of the machine, as `now` is.
    """

    def __init__(self, order: Group, place: int, least: int, now: float) -> None:
        self.order, self.place, self.least, self.now = order, place, least, now
        self.count, self.parts = len(order.members), len(order.bounds) - 1
        self.others = [one for one in range(self.count) if one != place]
        self.ends, self.slow_at = now + order.seconds, now + order.seconds / 2
        self.words = GroupFrames(order.round, order.group)
        self.links = LinkBook(self.others, order.patience / 2, now + order.patience)
        self.arrived = Arrived(order, place)
        self.step = GroupStep(order, place, self.arrived, self.links)
        self.out: list[Effect] = []
        self.prepared, self.key = False, b""
        # Who gave up, and takes nothing any more.
        self.quit: set[int] = set()
        self.promised: Ballot = (0, 1)
        self.accepted: MemberAnswer | None = None
        self.changing = False
        self.changes: dict[int, Change] = {}
        self.leading = Leadership((0, 1), now, planned=True) if place == 0 else None

    @property
    def plan(self) -> GroupPlan:
        """The last step that this member knows."""
        return self.step.plan

    def leader(self, view: int) -> int:
        """The place that leads this view."""
        return view % self.count

    def gone(self, place: int) -> bool:
        """Whether nothing is to be expected from that member."""
        return place in self.quit or self.links.gone(place, self.now)

    def reach(self) -> int:
        """How many can talk to this member, itself included."""
        return 1 + sum(not self.gone(place) for place in self.others)

    def answer(self) -> MemberAnswer:
        """What it holds: what it accepted last, or else any mean of each part."""
        return self.accepted or self.step.answer()

    def is_current(self) -> bool:
        """Whether it promised no step beyond the one that it knows."""
        return self.promised == self.plan.ballot

    def has_accepted(self) -> bool:
        """Whether what it accepted last is of the step that it knows."""
        return self.accepted is not None and self.accepted.held == self.plan.ballot

    def is_whole(self, frame: Holds | Change | Config) -> bool:
        """Whether it names all parts and all members."""
        return len(frame.parts) == self.parts and len(frame.weights) == self.count

    def adopt(self, plan: GroupPlan) -> None:
        """Goes on by this plan, and so without those who are not in it any more."""
        gone = [place for place in self.plan.alive if place not in plan.alive and place != self.place]
        self.step.plan, self.step.handed = plan, []
        self.slow_at = self.now + max((self.ends - self.now) / 2, self.order.patience)
        for place in gone:
            self.links.forget(place)
            self.out.append(Without(place))

    def say(self, what: Said, places: Iterable[int], frame: Control) -> None:
        """To those of `places` who were not told this yet over their present links."""
        fresh = self.links.untold(what, places)
        if fresh:
            self.out.append(SendToMembers(fresh, frame))
