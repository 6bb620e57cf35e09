"""Which view and step a member of a group follows, and when it wants another. A part of allreduce.py."""

from __future__ import annotations

from backend.protocols.mesh.allreduce.ending import Ending
from backend.protocols.mesh.allreduce.leadership import Leadership
from backend.protocols.mesh.allreduce.plan import Ballot, GroupPlan
from backend.protocols.mesh.allreduce.standing import GroupState
from backend.wire.peer_messages import Ask, Change, Config

# Each place may lead so often; then it is clear that no majority can talk.
LAPS = 3


class Views:
    """Of the member that stands so. A view that comes to nothing makes way for the next one."""

    def __init__(self, own: GroupState, ending: Ending) -> None:
        self._own, self._ending = own, ending
        # Who led a view, and made way: it had not enough to lead. Forgotten when a link comes up.
        self._unable: set[int] = set()

    # What others say.

    def linked(self, place: int) -> None:
        """There is a link, or it is heard of again: whoever made way may reach enough now."""
        self._own.links.linked(place)
        self._unable.clear()

    def asked(self, place: int, frame: Ask) -> None:
        """A leader wants to plan another step."""
        ballot = (frame.view, frame.step)
        if self._own.leader(frame.view) == place and ballot > self._own.promised:
            self._follow(ballot)

    def configured(self, place: int, frame: Config) -> None:
        """A leader planned a step."""
        own, ballot = self._own, (frame.view, frame.step)
        if own.leader(frame.view) != place or ballot < own.promised or ballot == own.plan.ballot:
            return
        if self._is_plan(frame):
            alive, owners = tuple(sorted(set(frame.alive))), tuple(frame.owners)
            self._follow(ballot)
            own.adopt(GroupPlan(ballot, alive, owners, tuple(frame.parts), tuple(frame.weights)))

    def _is_plan(self, frame: Config) -> bool:
        own = self._own
        return (
            own.is_whole(frame)
            and len(frame.owners) == own.parts
            and set(frame.owners) <= set(frame.alive) <= set(range(own.count))
            and len(set(frame.alive)) >= own.least
        )

    def wanted(self, place: int, frame: Change) -> None:
        """A member wants another view."""
        own, view = self._own, self._own.promised[0]
        if frame.view < LAPS * own.count and own.is_whole(frame):
            own.changes[place] = frame
            if own.leader(view) == place and frame.view > view:
                self._unable.add(place)

    # Where to.

    def mind_leader(self) -> None:
        """Moves to another view if this one comes to nothing."""
        own, view = self._own, self._own.promised[0]
        leader, moved = own.leader(view), self.moved()
        if leader in moved or own.count - len(moved) < own.least:
            self.join(moved)
        elif self._is_late() if leader == own.place else self._is_hopeless(leader):
            self.move(view + 1)

    def moved(self) -> list[int]:
        """Who is there, but in a higher view."""
        own, view = self._own, self._own.promised[0]
        changes = own.changes.items()
        return [place for place, change in changes if change.view > view and not own.gone(place)]

    def join(self, moved: list[int]) -> None:
        """Those in a higher view, where the highest of them are."""
        self.move(max(self._own.changes[place].view for place in moved))

    def move(self, view: int) -> None:
        """To the first view from `view` on whose leader is there; gives up where nobody is."""
        own = self._own
        for candidate in range(view, min(view + own.count, LAPS * own.count)):
            leader = own.leader(candidate)
            if self._can_lead(leader):
                self._follow((candidate, 0))
                own.changing = True
                if leader == own.place:
                    own.leading = Leadership((candidate, 0), own.now)
                return
        self._ending.give_up(f"{own.reach()} of at least {own.least} members can be talked to.")

    def _follow(self, ballot: Ballot) -> None:
        """Takes part in nothing below `ballot` any more."""
        own = self._own
        if ballot[0] != own.promised[0]:
            own.leading = None
        own.promised, own.changing = ballot, False

    # Who can lead.

    def _can_lead(self, place: int) -> bool:
        own = self._own
        if place == own.place:
            return own.reach() >= own.least and not self._is_late()
        return not own.gone(place) and place not in own.arrived.unfit and place not in self._unable

    def _is_hopeless(self, leader: int) -> bool:
        """Nothing is to be expected of it. An unfit leader is told so, and gives up if it is only broken."""
        own = self._own
        return own.gone(leader) or (leader in own.arrived.unfit and own.now >= own.slow_at)

    def _is_late(self) -> bool:
        """A member that is not prepared in time should not lead: the others go on without it."""
        return not self._own.prepared and self._own.now >= self._own.slow_at
