"""Rounds of a mesh without its server, as a machine without I/O; `serverless/rounds.ts` is its mirror.

    ATTENDED ── server lost ──> CALLING ── set_out ──> (MEASURING ──>) TRAINING ── group ──> AVERAGING
       ^                          ^                                       │                     │
       └── server reached ── any  └── time over, or the steward is gone ──┴── result or none ───┘

docs/decisions/0033-without-a-server.md says why it is right. The machine stands beside `MeshMember`, which
does what is agreed on here. Its host reports events with `now` (seconds of any steady clock), performs the
effects that they return, and reports `ServerlessTimePassed` at `timer()`. What comes at the wrong time
changes nothing. Its parts: last_round.py has what the next round is made of, survivors.py whom to go on with,
and elected_leader.py what a steward does, besides.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec.structs import replace

from backend.protocols.mesh.serverless.elected_leader import Callers, ElectedLeader, set_out
from backend.protocols.mesh.serverless.last_round import Last
from backend.protocols.mesh.serverless.plan import MOST_AHEAD, objection
from backend.protocols.mesh.serverless.serverless_events import (
    Agree,
    Deserted,
    Effect,
    Event,
    Hasten,
    LocalGroupAveraged,
    LocalGroupCertified,
    LocalGroupFailed,
    LocalMeasured,
    LocalTrained,
    PeerHeard,
    PeerLinked,
    PeerLost,
    Reached,
    Say,
    ServerlessTimePassed,
    ServerSaid,
)
from backend.protocols.mesh.serverless.survivors import KnownSurvivors
from backend.wire.mesh_messages import Certificate, Group, Trained
from backend.wire.messages import Evaluation
from backend.wire.peer_messages import Attended, OnwardFrame, SetOut, Unattended


class ServerlessStage(StrEnum):
    """What a peer does about rounds without the server."""

    ATTENDED = "attended"
    CALLING = "calling"
    MEASURING = "measuring"
    TRAINING = "training"
    TRAINED = "trained"
    AVERAGING = "averaging"


class ServerlessRounds:
    """One peer's part. `own` is its id, `steward` whether it can lead, `salt` a random number below 2^32."""

    def __init__(self, own: str, steward: bool, salt: int = 0) -> None:
        self.own = own
        self.steward = steward
        self.stage = ServerlessStage.ATTENDED
        self.last = Last()
        self.survivors = KnownSurvivors(own)
        self._holds: str | None = None
        self._measured: str | None = None
        self._idle = True
        self._callers = Callers(own)
        self._leader: str | None = None
        self._leading: ElectedLeader | None = None
        self._salt = salt
        # When to call, or to wait no longer.
        self._due: float | None = None
        self._called: float | None = None
        self._hastened: float | None = None

    def timer(self) -> float | None:
        """When `ServerlessTimePassed` is due next; None while only another event can change anything."""
        times = [self._due, self._leading.until if self._leading else None]
        return min((at for at in times if at is not None), default=None)

    def happened(self, event: Event, now: float) -> list[Effect]:
        """Changes the state by one event and returns what the host has to do, in order."""
        match event:
            case Reached():
                return self._reached()
            case Deserted(busy):
                return self._deserted(busy, now)
            case ServerSaid(frame):
                self.last.told(frame)
            case PeerLinked(client):
                return self._linked_with(client)
            case PeerLost(client):
                return self._lost(client, now)
            case PeerHeard(client, frame):
                return self._heard(client, frame, now)
            case LocalTrained(report):
                return self._trained(report, now)
            case LocalGroupAveraged(order, weights):
                self._averaged(order, weights, now)
            case LocalGroupFailed():
                self._failed(now)
            case LocalGroupCertified(certificate):
                return self._certified(certificate, now)
            case LocalMeasured(report):
                return self._has_measured(report, now)
            case ServerlessTimePassed():
                return self._time_passed(now)
        return []

    # The server.

    def _reached(self) -> list[Effect]:
        self._leave()
        self.stage, self._due = ServerlessStage.ATTENDED, None
        return self._say(Attended())

    def _deserted(self, busy: bool, now: float) -> list[Effect]:
        if self.stage is not ServerlessStage.ATTENDED:
            return []
        self.stage, self._idle, self._called = ServerlessStage.CALLING, not busy, None
        self._wait(now)
        return []

    # The others.

    def _wait(self, now: float) -> None:
        """Calls when the patience is over; who never averaged has nothing to call for."""
        self._due = now + self.last.patience if self.last.order else None

    def _say(self, frame: OnwardFrame) -> list[Effect]:
        return [Say(linked, frame)] if (linked := self.survivors.linked) else []

    def _linked_with(self, client: str) -> list[Effect]:
        self.survivors.up(client)
        if self._called is None or self._calls() is None or not self.survivors.believes(client):
            return []
        return [Say([client], self._call())]

    def _lost(self, client: str, now: float) -> list[Effect]:
        self.survivors.down(client)
        self._callers.forget(client)
        if self._leading is not None:
            return self._left(client, now)
        if client == self._leader:
            self._call_again(now)
        return []

    def _heard(self, client: str, frame: OnwardFrame, now: float) -> list[Effect]:
        if not self.survivors.believes(client):
            return []
        match frame:
            case Unattended():
                return self._called_by(client, frame, now)
            case Attended():
                return self._attended(client, now)
            case SetOut():
                return self._follow(client, frame, now)
            case Trained():
                return self._trained_by(client, frame, now)
            case Group():
                return self._ordered(client, frame)
            case Evaluation(round=number):
                self._measured = self._holds if number == self.survivors.round else self._measured
        return []

    def _called_by(self, client: str, frame: Unattended, now: float) -> list[Effect]:
        # Half as far as is followed, since the others may have heard of fewer rounds than this peer.
        if frame.round <= self.last.number + MOST_AHEAD // 2:
            self._callers.heard(client, frame)
        if self.stage is ServerlessStage.ATTENDED:
            return [Say([client], Attended())]
        return self._lead(now)

    def _attended(self, client: str, now: float) -> list[Effect]:
        """Somebody has the server: nothing is begun until this peer tried it, too."""
        self._callers.forget(client)
        if self.stage in (ServerlessStage.ATTENDED, ServerlessStage.AVERAGING):
            return []
        self._call_again(now)
        if self._hastened is not None and now < self._hastened + self.last.patience:
            return []
        self._hastened = now
        return [Hasten()]

    # Calling, and setting out.

    def _calls(self) -> Certificate | None:
        """The certificate of what this peer would go on from, if it can."""
        shown = self.survivors.certificate
        ready = self.stage is ServerlessStage.CALLING and self._idle and self.last.plan and self.last.order
        if not ready or shown is None or shown.weights != self._holds or not self.survivors.has(self.own):
            return None
        return shown

    def _call(self) -> Unattended:
        measures = self.last.exam is not None and self._measured != self._holds
        return Unattended(
            round=self.last.number, weights=self._holds or "", steward=self.steward, measures=measures
        )

    def _call_out(self, now: float) -> list[Effect]:
        self._wait(now)
        if self._calls() is None:
            return []
        self._called = now if self._called is None else self._called
        return [*self._say(self._call()), *self._lead(now)]

    def _lead(self, now: float) -> list[Effect]:
        """Sets out, if this peer is the steward and enough are there."""
        shown = self._calls()
        if shown is None or self._called is None or not self.steward:
            return []
        callers = self._callers.together(self._call(), self.survivors.linked)
        waits = self._callers.waits(callers, shown)
        if waits is None or now < self._called + waits * self.last.patience:
            return []
        frame = set_out(callers, shown)
        members = sorted(callers)
        self._leading = ElectedLeader(frame.round, shown, members, now + self.last.seconds)
        others = [client for client in members if client != self.own]
        return [Say(others, frame), *self._set_out(self.own, frame, now)]

    def _follow(self, client: str, frame: SetOut, now: float) -> list[Effect]:
        shown = self._calls()
        called = shown is not None and self._called is not None
        if not called or frame.weights != self._holds or not self.last.leads_to(frame.round):
            return []
        return self._set_out(client, frame, now)

    def _set_out(self, leader: str, frame: SetOut, now: float) -> list[Effect]:
        self._leader = leader
        # A call counts once.
        self._callers.clear()
        self.last.set_out(frame.round, frame.weights)
        exam = self.last.examine() if frame.measures == self.own else None
        if exam is None:
            return self._train(now)
        self.stage, self._due = ServerlessStage.MEASURING, now + exam.seconds
        return [Agree(exam)]

    def _train(self, now: float) -> list[Effect]:
        self.stage, self._idle = ServerlessStage.TRAINING, False
        self._due = now + self.last.seconds + 2 * self.last.patience
        return [Agree(self.last.plan)] if self.last.plan else []

    def _has_measured(self, report: Evaluation, now: float) -> list[Effect]:
        if self.stage is not ServerlessStage.MEASURING:
            return []
        self._measured = self._holds
        return [*self._say(replace(report, round=self.survivors.round)), *self._train(now)]

    # From trained to averaged.

    def _trained(self, report: Trained, now: float) -> list[Effect]:
        self._idle = True
        if (
            self.stage is not ServerlessStage.TRAINING
            or report.round != self.last.number
            or self._leader is None
        ):
            return []
        self.stage = ServerlessStage.TRAINED
        if self._leader != self.own:
            return [Say([self._leader], report)]
        return self._trained_by(self.own, report, now)

    def _trained_by(self, client: str, report: Trained, now: float) -> list[Effect]:
        if self._leading is None:
            return []
        self._leading.trained_by(client, report)
        return self._form(now)

    def _left(self, client: str, now: float) -> list[Effect]:
        if self._leading is not None:
            self._leading.left(client)
        return self._form(now)

    def _form(self, now: float) -> list[Effect]:
        """Makes the group once all have trained or time is up; gives up where too few have."""
        leading, last = self._leading, self.last.order
        if leading is None or last is None or not (leading.complete or now >= leading.until):
            return []
        self._leading = None
        order = leading.order(last, self.own, self._salt)
        self._salt += 1
        if order is None or self.stage is not ServerlessStage.TRAINED:
            self._call_again(now)
            return []
        others = [client for client in order.members if client != self.own]
        return [Say(others, order), *self._average(order)]

    def _ordered(self, client: str, order: Group) -> list[Effect]:
        shown, last = self.survivors.certificate, self.last.order
        if (
            self.stage is not ServerlessStage.TRAINED
            or client != self._leader
            or shown is None
            or last is None
        ):
            return []
        if order.round != self.last.number or objection(order, last, shown, self.own):
            return []
        return self._average(order)

    def _average(self, order: Group) -> list[Effect]:
        self._leave()
        self.stage, self._idle, self._due = ServerlessStage.AVERAGING, False, None
        return [Agree(order)]

    def _averaged(self, order: Group, weights: str, now: float) -> None:
        self.last.averaged(order)
        self._holds, self._idle = weights, True
        if self.stage is ServerlessStage.AVERAGING:
            # The patience is over already: the certificate of the new weights calls.
            self.stage, self._called, self._due = ServerlessStage.CALLING, None, None
        elif self.stage is ServerlessStage.CALLING:
            self._wait(now)

    def _failed(self, now: float) -> None:
        self._idle = True
        if self.stage is ServerlessStage.AVERAGING:
            self._call_again(now)

    def _certified(self, certificate: Certificate, now: float) -> list[Effect]:
        if self._holds is not None and certificate.weights != self._holds:
            return []
        self.survivors.certificate, self._holds = certificate, certificate.weights
        return self._call_out(now) if self.stage is ServerlessStage.CALLING and self._due is None else []

    # Time.

    def _time_passed(self, now: float) -> list[Effect]:
        effects = self._form(now)
        if self._due is None or now < self._due:
            return effects
        match self.stage:
            case ServerlessStage.CALLING:
                return [*effects, *self._call_out(now)]
            case ServerlessStage.MEASURING:
                return [*effects, *self._train(now)]
            case _:
                self._call_again(now)
        return effects

    def _call_again(self, now: float) -> None:
        """What was begun leads nowhere: everybody calls anew."""
        self._leave()
        self.stage, self._called = ServerlessStage.CALLING, None
        self._wait(now)

    def _leave(self) -> None:
        self._leader = self._leading = None
