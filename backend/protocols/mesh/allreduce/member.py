"""The all-reduce machine of one member of a group: events in, effects out, no I/O.

It knows digests of means, not vectors: the host has the bytes (group_events.py). docs/reference/mesh.md
has the protocol, 0026 says why it is right. The twin is protocol/allreduce/member.ts; both languages replay
tests/contract/vectors/allreduce.json.

    PREPARING ── own vector encoded ──> AVERAGING ── decided ──> FINISHED
        └───────────── decided without this member, or no majority ──> FAILED

What to send follows from the state alone: after every event the machine sends each member the frames that it
did not get on its present link. So nothing is lost when a link comes back.
"""

from __future__ import annotations

from enum import StrEnum
from itertools import pairwise

from backend.protocols.mesh.allreduce.group_events import (
    Control,
    Effect,
    Event,
    FailGroup,
    FinishGroup,
    GroupTimePassed,
    MeanReceived,
    MemberFrameReceived,
    MemberLinked,
    MemberLost,
    MemberSilent,
    MemberUnfit,
    PieceReceived,
    Prepared,
    Reduced,
)
from backend.protocols.mesh.allreduce.leader import Views
from backend.protocols.mesh.allreduce.plan import least_members, weight_fraction
from backend.protocols.mesh.allreduce.step import GroupStep
from backend.wire.mesh_messages import Group
from backend.wire.peer_messages import Ask, Begin, Change, Complain, Config, Decide, Give, GiveUp, Holds


class MemberPhase(StrEnum):
    """Phases of a member of a group."""

    PREPARING = "preparing"
    AVERAGING = "averaging"
    FINISHED = "finished"
    FAILED = "failed"


# An unprepared member finishes if it received all means.
TRANSITIONS: dict[MemberPhase, frozenset[MemberPhase]] = {
    MemberPhase.PREPARING: frozenset({MemberPhase.AVERAGING, MemberPhase.FINISHED, MemberPhase.FAILED}),
    MemberPhase.AVERAGING: frozenset({MemberPhase.FINISHED, MemberPhase.FAILED}),
    MemberPhase.FINISHED: frozenset(),
    MemberPhase.FAILED: frozenset(),
}

# Later ones only keep the links, on which members that still ask get the result.
_AT_END: frozenset[type[Event]] = frozenset({MemberFrameReceived, MemberLinked, MemberLost, MemberSilent})
_AT_ALL_TIMES: frozenset[type[Event]] = _AT_END | {PieceReceived, MeanReceived, MemberUnfit, GroupTimePassed}

# The events that each phase takes; any other one changes nothing.
EVENTS: dict[MemberPhase, frozenset[type[Event]]] = {
    MemberPhase.PREPARING: _AT_ALL_TIMES | {Prepared},
    MemberPhase.AVERAGING: _AT_ALL_TIMES | {Reduced},
    MemberPhase.FINISHED: _AT_END,
    MemberPhase.FAILED: _AT_END,
}


class AllReduce:
    """The member at `place` of the group of `order`, which it got at `now`. Owned by its host alone."""

    def __init__(self, order: Group, place: int, now: float) -> None:
        """Raises ValueError where the order contradicts itself."""
        least = least_members(order, place)
        self.phase = MemberPhase.PREPARING
        self._step = GroupStep(order, place, now)
        self._links, self._received = self._step.links, self._step.received
        self._views = Views(self._step, least)
        # The frame for members that do not know yet that this one has ended.
        self._final: Decide | GiveUp | None = None

    # What the host calls.

    @property
    def over(self) -> bool:
        """The group ended for this member, with a result or without."""
        return self._final is not None

    def happened(self, event: Event, now: float) -> list[Effect]:
        """The effects of this event. An event that makes no sense changes nothing."""
        self._links.now = max(now, self._links.now)
        if type(event) in EVENTS[self.phase]:
            self._take(event)
        if not self.over:
            self._proceed()
        effects, self._links.effects = self._links.effects, []
        return effects

    def timer(self) -> float | None:
        """When `GroupTimePassed` is due next, unless another event comes before."""
        if self.over:
            return None
        step, patience, leader = self._step, self._step.order.patience, self._views.leader
        times = [step.ends + 2 * patience, step.slow_at, step.slow_at + patience, *self._links.deadlines()]
        if leader is not None and not leader.planned:
            times += [leader.since + patience, leader.since + 2 * patience]
        return min((time for time in times if time > self._links.now), default=None)

    # Events.

    def _take(self, event: Event) -> None:
        links, received, parts = self._links, self._received, self._step.parts
        match event:
            case Prepared():
                self._prepare(event)
            case MemberFrameReceived(place, frame) if place in links.others:
                self._take_frame(place, frame)
            case PieceReceived(place, part) if place in links.others and part < parts:
                received.add_piece(event)
            case MeanReceived(place, part) if place in links.others and part < parts:
                received.add_mean(event, place)
            case Reduced(part) if part in received.reducing:
                del received.reducing[part]
                received.add_mean(event, self._step.place)
            case MemberUnfit(place, reason) if place in links.others:
                received.mark_unfit(place, reason)
            case MemberUnfit(place, reason) if place == self._step.place:
                self._give_up(reason)
            case MemberLinked(place) if place in links.others:
                self._views.link_up(place)
            case MemberLost(place) if place in links.others:
                links.disconnect(place)
            case MemberSilent(place) if place in links.others:
                links.mark_silent(place)
            case _:
                pass

    def _prepare(self, event: Prepared) -> None:
        error = self._received.prepare(event)
        if error is None:
            self._enter(MemberPhase.AVERAGING)
        else:
            self._give_up(error)

    def _take_frame(self, place: int, frame: Control) -> None:
        match frame:
            case Decide():
                if not self.over and self._is_result(frame):
                    self._finish(frame)
            case GiveUp():
                self._links.mark_ended(place)
            case _ if self._final is not None:
                self._links.send(("end",), [place], self._final)
            case Begin():
                self._received.add_begin(place, frame)
            case Complain(place=of, fault=fault) if of < self._step.count and of != place:
                if self._views.leader is not None:
                    self._views.leader.add_complaint(place, of, fault)
            case Holds():
                if self._views.leader is not None:
                    self._views.leader.add_answer(place, frame)
            case Ask():
                self._views.add_ask(place, frame)
            case Config():
                self._views.add_config(place, frame)
            case Change():
                self._views.add_change(place, frame)
            case Give():
                self._add_handover(frame)
            case _:
                pass

    def _add_handover(self, frame: Give) -> None:
        """A leader asks this member to send a mean that it has."""
        plan, part = self._step.plan, frame.part
        if (frame.view, frame.step) == plan.ballot and part < self._step.parts and plan.parts[part]:
            self._step.handovers += [(part, place) for place in frame.places if place in self._links.others]

    # What follows from the state.

    def _proceed(self) -> None:
        """Sends what is due, and follows leaders, until nothing changes any more."""
        step, views = self._step, self._views
        if self._links.now >= step.ends + 2 * step.order.patience:
            self._give_up("The group's time is over.")
        while not self.over:
            before = (views.promised, step.plan, step.accepted)
            views.check_leader()
            if views.failure is None:
                self._exchange()
                if views.lead():
                    self._decide()
            if views.failure is not None:
                self._give_up(views.failure)
            if before == (views.promised, step.plan, step.accepted):
                return

    def _exchange(self) -> None:
        step = self._step
        self._announce()
        if step.is_prepared() and step.place in step.plan.alive:
            step.exchange(self._views.promised)
            if self._views.is_current():
                self._accept()
                self._complain()

    def _announce(self) -> None:
        """Sends what the others need in any case: `begin`, who is unfit, and what this member has."""
        step, links, views, received = self._step, self._links, self._views, self._received
        view = views.promised[0]
        leader = views.leader_of(view)
        if step.is_prepared():
            weight, commitments = received.weights[step.place], received.commitments[step.place]
            begin = Begin(*step.header, weight, commitments, received.key)
            links.send(("begin",), links.others, begin)
        if views.leader is None:
            # Before its answer, so that the leader's plan leaves these members out.
            for place, reason in received.unfit.items():
                complaint = Complain(*step.header, place, "unfit", reason)
                links.send(("unfit", view, place), [leader], complaint)
        is_asked = leader != step.place and not views.is_current()
        if step.is_settling() or not (views.changing or is_asked):
            return
        answer = step.answer()
        held, parts, weights = answer.ballot, list(answer.parts), list(answer.weights)
        if views.changing:
            change = Change(*step.header, view, held, parts, weights)
            links.send(("change", view), links.others, change)
        else:
            holds = Holds(*step.header, *views.promised, held, parts, weights)
            links.send(("answer", views.promised), [leader], holds)

    def _accept(self) -> None:
        """Accepts the step once all its means have arrived, and reports that to the leader."""
        step, ballot = self._step, self._step.plan.ballot
        answer = step.accept()
        if answer is None:
            return
        if self._views.leader is not None:
            self._views.leader.add_own_acceptance(answer)
            return
        holds = Holds(*step.header, *ballot, ballot, list(answer.parts), list(answer.weights))
        self._links.send(("holds", ballot), [self._views.leader_of(ballot[0])], holds)

    def _complain(self) -> None:
        """Reports to the leader which members delay this one."""
        step, plan = self._step, self._step.plan
        if step.has_accepted():
            return
        leader = self._views.leader_of(plan.ballot[0])
        for place in plan.alive:
            fault = None if place == step.place else step.fault(place)
            if fault is None:
                continue
            if self._views.leader is not None:
                self._views.leader.add_complaint(step.place, place, fault)
            else:
                reason = f"Nothing arrives from place {place}."
                complaint = Complain(*step.header, place, fault, reason)
                self._links.send(("complain", plan.ballot, place, fault), [leader], complaint)

    # The end.

    def _decide(self) -> None:
        """All members of the plan accepted the same: that is the result. Only a leader decides."""
        step, answer, plan = self._step, self._step.accepted, self._step.plan
        if answer is None:
            return
        means = zip(self._received.means, answer.parts, strict=True)
        contributors = [list(by_digest[digest]) for by_digest, digest in means]
        alive, parts, weights = list(plan.alive), list(answer.parts), list(answer.weights)
        decide = Decide(*step.header, *plan.ballot, alive, parts, contributors, weights)
        self._finish(decide)
        self._links.send(("end",), self._links.others, decide)

    def _is_result(self, frame: Decide) -> bool:
        step = self._step
        places = {place for members in (frame.survivors, *frame.contributors) for place in members}
        return (
            len(frame.parts) == len(frame.contributors) == step.parts
            and len(frame.weights) == step.count
            and all(place < step.count for place in places)
        )

    def _finish(self, frame: Decide) -> None:
        """Takes the result if all its means arrived, and sends it to members that want another leader."""
        self._final = frame
        self._links.send(("end",), list(self._views.changes), frame)
        means = self._received.means
        if not all(digest in by_digest for digest, by_digest in zip(frame.parts, means, strict=True)):
            self._enter(MemberPhase.FAILED)
            self._links.effects.append(FailGroup("The group continued without this member."))
            return
        self._enter(MemberPhase.FINISHED)
        lengths = [end - start for start, end in pairwise(self._step.order.bounds)]
        fraction = weight_fraction(lengths, frame.contributors, frame.weights)
        finish = FinishGroup(frame.parts, frame.contributors, frame.survivors, frame.weights, fraction)
        self._links.effects.append(finish)

    def _give_up(self, reason: str) -> None:
        """This member has no result, and takes none later; `reason` is for people."""
        self._enter(MemberPhase.FAILED)
        self._final = GiveUp(*self._step.header, self._views.promised[0], reason)
        self._links.send(("end",), self._links.others, self._final)
        self._links.effects.append(FailGroup(reason))

    def _enter(self, phase: MemberPhase) -> None:
        if phase not in TRANSITIONS[self.phase]:
            raise RuntimeError(f"A member cannot go from {self.phase} to {phase}.")
        self.phase = phase
