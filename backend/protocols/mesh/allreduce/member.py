"""A member of a group that averages, as a machine without I/O; protocol/allreduce/member.ts is its mirror.

It knows digests of means, not vectors: its host has the bytes (events.py).
docs/decisions/0025-mesh.md has the protocol, 0026 why it is safe and what its parts do; both languages replay
the conversations in tests/contract/vectors/allreduce.json.

What is to be said follows from the state alone: after every event the machine says to each member what that
was not told yet over its present link. So nothing is lost when a link comes back.
"""

from __future__ import annotations

from backend.protocols.mesh.allreduce.ending import Ending
from backend.protocols.mesh.allreduce.group_events import (
    Control,
    Effect,
    Event,
    MeanCame,
    MemberHeard,
    MemberLinked,
    MemberLost,
    PieceCame,
    Prepared,
    Reduced,
    Silent,
    Unfit,
)
from backend.protocols.mesh.allreduce.leader import Leader
from backend.protocols.mesh.allreduce.reports import Reports
from backend.protocols.mesh.allreduce.standing import GroupState
from backend.protocols.mesh.allreduce.views import Views
from backend.wire.mesh_messages import Group
from backend.wire.peer_messages import Ask, Begin, Change, Complain, Config, Decide, Give, GiveUp, Holds

# Of two members each could take its own values from the sum.
LEAST_MASKED = 3


class AllReduce:
    """The member at `place` of the group of `order`, which it got at `now`. Owned by its host alone."""

    def __init__(self, order: Group, place: int, now: float) -> None:
        """Raises ValueError where the order contradicts itself."""
        self._own = GroupState(order, place, _least(order, place), now)
        self._ending = Ending(self._own)
        self._views = Views(self._own, self._ending)
        self._leader = Leader(self._own, self._ending, self._views)
        self._reports = Reports(self._own, self._leader)

    # What the host calls.

    @property
    def over(self) -> bool:
        """The group ended for this member, with a result or without."""
        return self._ending.over

    def happened(self, event: Event, now: float) -> list[Effect]:
        """What follows from this. An event that makes no sense changes nothing."""
        own = self._own
        own.now = max(now, own.now)
        self._take(event)
        if not self.over:
            self._go_on()
        effects, own.out = own.out, []
        return effects

    def timer(self) -> float | None:
        """When `TimePassed` is due next, unless something happens before."""
        if self.over:
            return None
        own, patience = self._own, self._own.order.patience
        times = [own.ends + 2 * patience, own.slow_at, own.slow_at + patience, *own.links.deadlines()]
        if own.leading is not None and not own.leading.planned:
            times += [own.leading.since + patience, own.leading.since + 2 * patience]
        return min((time for time in times if time > own.now), default=None)

    # What comes.

    def _take(self, event: Event) -> None:
        own, arrived = self._own, self._own.arrived
        match event:
            case Prepared() if not own.prepared and not self.over:
                self._prepare(event)
            case MemberHeard(place, frame) if place in own.others:
                self._heard(place, frame)
            case PieceCame(place, part) if place in own.others and part < own.parts:
                arrived.piece_came(event)
            case MeanCame(place, part) if place in own.others and part < own.parts:
                arrived.keep(event, place)
            case Reduced(part) if part in arrived.reducing:
                del arrived.reducing[part]
                arrived.keep(event, own.place)
            case Unfit(place, reason) if place in own.others:
                arrived.refuse(place, reason)
            case Unfit(place, reason) if place == own.place and not self.over:
                self._ending.give_up(reason)
            case MemberLinked(place) if place in own.others:
                self._views.linked(place)
            case MemberLost(place) if place in own.others:
                own.links.lost(place, own.now)
            case Silent(place) if place in own.others:
                own.links.silent(place, own.now)
            case _:
                pass

    def _prepare(self, event: Prepared) -> None:
        own = self._own
        reason = own.arrived.misfit(event)
        if reason:
            self._ending.give_up(reason)
            return
        own.prepared, own.key = True, event.key
        own.arrived.weights[own.place] = event.weight
        own.arrived.commitments[own.place] = event.commitments

    def _heard(self, place: int, frame: Control) -> None:
        match frame:
            case Decide():
                self._ending.decided(frame)
            case GiveUp():
                self._own.quit.add(place)
            case _ if self.over:
                self._ending.remind(place)
            case Begin():
                self._own.arrived.begun(place, frame)
            case Complain(place=of, fault=fault) if of < self._own.count and of != place:
                self._leader.complained(place, of, fault)
            case Holds():
                self._leader.answered(place, frame)
            case Ask():
                self._views.asked(place, frame)
            case Config():
                self._views.configured(place, frame)
            case Change():
                self._views.wanted(place, frame)
            case Give():
                self._given(frame)
            case _:
                pass

    def _given(self, frame: Give) -> None:
        """A leader asks this member to hand on what it has."""
        plan, step, part = self._own.plan, self._own.step, frame.part
        if (frame.view, frame.step) == plan.ballot and part < self._own.parts and plan.parts[part]:
            step.handed += [(part, place) for place in frame.places if place in self._own.others]

    # What follows.

    def _go_on(self) -> None:
        """Says and does all that the state asks for now."""
        own = self._own
        if own.now >= own.ends + 2 * own.order.patience:
            self._ending.give_up("The group's time is over.")
        while not self.over:
            before = (own.promised, own.plan, own.accepted)
            self._views.mind_leader()
            if not self.over:
                self._exchange()
                self._leader.lead()
            if before == (own.promised, own.plan, own.accepted):
                return

    def _exchange(self) -> None:
        own = self._own
        self._reports.stand()
        if own.prepared and own.place in own.plan.alive:
            own.out += own.step.work(own.promised)
            self._reports.accept()
            self._reports.complain()


def _least(order: Group, place: int) -> int:
    """How many have to go on together, at least. Raises ValueError where the order contradicts itself."""
    count, parts = len(order.members), len(order.bounds) - 1
    if parts != (1 if order.exchange == "full" else count) or not 0 <= place < count:
        raise ValueError("The group's bounds do not fit its members and its exchange.")
    masked = order.precision == "masked"
    if masked and (order.exchange, order.reducer) != ("butterfly", "mean"):
        raise ValueError("Masked pieces need the exchange butterfly and a plain mean.")
    least = max(order.least, count // 2 + 1, LEAST_MASKED if masked else 0)
    if count < least:
        raise ValueError(f"The group has {count} members and needs {least}.")
    return least
