"""Rounds of a mesh without its server, as a machine without I/O; `onward.ts` is its mirror in the browser.

    ATTENDED ── server lost ──> CALLING ── set_out ──> (MEASURING ──>) TRAINING ── group ──> AVERAGING
       ^                          ^                                       │                     │
       └── server reached ── any  └── time over, or the steward is gone ──┴── result or none ───┘

docs/decisions/0033-without-a-server.md says why it is right. The machine stands beside `MeshMember`, which
does what is agreed on here. Its host reports events with `now` (seconds of any steady clock), performs the
effects that they return, and reports `TimePassed` at `timer()`. What comes at the wrong time changes nothing.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec.structs import replace

from backend.protocols.onward_events import (
    Agree,
    Averaged,
    Certified,
    Deserted,
    Effect,
    Event,
    Failed,
    Hasten,
    Heard,
    Linked,
    Lost,
    Measured,
    Reached,
    Say,
    TimePassed,
    Told,
    Trained,
)
from backend.protocols.onward_plan import MOST_AHEAD, most_of, next_evaluation, next_plan, objection
from backend.protocols.stewardship import Stewardship
from backend.wire.mesh import Certificate, Group, ServerToPeer
from backend.wire.mesh import Trained as TrainedFrame
from backend.wire.messages import Evaluate, Evaluation, State, Train
from backend.wire.peering import Attended, OnwardFrame, SetOut, Unattended

# Of a round's time, for who measures before it trains.
MEASURING_SHARE = 0.25


class Stage(StrEnum):
    """What a peer does about rounds without the server."""

    ATTENDED = "attended"
    CALLING = "calling"
    MEASURING = "measuring"
    TRAINING = "training"
    TRAINED = "trained"
    AVERAGING = "averaging"


class Onward:
    """One peer's part. `own` is its id, `steward` whether it can lead, `salt` a random number below 2^32.

    `plan`, `order` and `exam` are the last that counted for this peer, whoever gave them; `certificate` shows
    the weights that it `holds`, and `number` is the newest round that it heard of.
    """

    def __init__(self, own: str, steward: bool, salt: int = 0) -> None:
        self.own = own
        self.steward = steward
        self.stage = Stage.ATTENDED
        self.plan: Train | None = None
        self.order: Group | None = None
        self.exam: Evaluate | None = None
        self.certificate: Certificate | None = None
        self.number = 0
        self._holds: str | None = None
        self._measured: str | None = None
        self._idle = True
        self._linked: set[str] = set()
        self._said: dict[str, Unattended] = {}
        self._leader: str | None = None
        self._leading: Stewardship | None = None
        self._salt = salt
        # When to call, or to wait no longer.
        self._due: float | None = None
        self._called: float | None = None
        self._hastened: float | None = None

    def timer(self) -> float | None:
        """When `TimePassed` is due next; None while only another event can change anything."""
        times = [self._due, self._leading.until if self._leading else None]
        return min((at for at in times if at is not None), default=None)

    def happened(self, event: Event, now: float) -> list[Effect]:
        """Changes the state by one event and returns what the host has to do, in order."""
        match event:
            case Reached():
                return self._reached()
            case Deserted(busy):
                return self._deserted(busy, now)
            case Told(frame):
                self._told(frame)
            case Linked(client):
                return self._linked_with(client)
            case Lost(client):
                return self._lost(client, now)
            case Heard(client, frame):
                return self._heard(client, frame, now)
            case Trained(report):
                return self._trained(report, now)
            case Averaged(order, weights):
                self._averaged(order, weights, now)
            case Failed():
                self._failed(now)
            case Certified(certificate):
                return self._certified(certificate, now)
            case Measured(report):
                return self._has_measured(report, now)
            case TimePassed():
                return self._time_passed(now)
        return []

    # The server.

    def _reached(self) -> list[Effect]:
        self._leave()
        self.stage, self._due = Stage.ATTENDED, None
        return self._say(Attended())

    def _deserted(self, busy: bool, now: float) -> list[Effect]:
        if self.stage is not Stage.ATTENDED:
            return []
        self.stage, self._idle, self._called = Stage.CALLING, not busy, None
        self._wait(now)
        return []

    def _told(self, frame: ServerToPeer) -> None:
        match frame:
            case Train():
                self.plan, self.number = frame, max(self.number, frame.round)
            case State(round=number, phase=phase):
                self.number = max(self.number, number)
                if phase in ("paused", "finished"):
                    # The owner wants no rounds: there are none while the server is away, either.
                    self.plan = None
            case Evaluate():
                self.exam = frame

    # The others.

    @property
    def others(self) -> list[str]:
        """The other survivors of the certified weights, to whom there are links."""
        named = self.certificate.survivors if self.certificate else []
        return [client for client in named if self.believes(client) and client in self._linked]

    @property
    def _patience(self) -> float:
        return self.order.patience if self.order else 0.0

    def _wait(self, now: float) -> None:
        """Calls when the patience is over; who never averaged has nothing to call for."""
        self._due = now + self._patience if self.order else None

    def _say(self, frame: OnwardFrame) -> list[Effect]:
        return [Say(self.others, frame)] if self.others else []

    def _linked_with(self, client: str) -> list[Effect]:
        self._linked.add(client)
        if self._called is None or self._calls() is None or client not in self.others:
            return []
        return [Say([client], self._call())]

    def _lost(self, client: str, now: float) -> list[Effect]:
        self._linked.discard(client)
        self._said.pop(client, None)
        if self._leading is not None:
            return self._left(client, now)
        if client == self._leader:
            self._call_again(now)
        return []

    def believes(self, client: str) -> bool:
        """Whether `client` is another survivor of the certified weights: nobody else is listened to."""
        named = self.certificate.survivors if self.certificate else []
        return client in named and client != self.own

    def _heard(self, client: str, frame: OnwardFrame, now: float) -> list[Effect]:
        if not self.believes(client):
            return []
        match frame:
            case Unattended():
                return self._called_by(client, frame, now)
            case Attended():
                return self._attended(client, now)
            case SetOut():
                return self._follow(client, frame, now)
            case TrainedFrame():
                return self._trained_by(client, frame, now)
            case Group():
                return self._ordered(client, frame)
            case Evaluation(round=number):
                self._measured = self._holds if number == self._certified_round else self._measured
        return []

    def _called_by(self, client: str, frame: Unattended, now: float) -> list[Effect]:
        # Half as far as is followed, since the others may have heard of fewer rounds than this peer.
        if frame.round <= self.number + MOST_AHEAD // 2:
            self._said[client] = frame
        if self.stage is Stage.ATTENDED:
            return [Say([client], Attended())]
        return self._lead(now)

    def _attended(self, client: str, now: float) -> list[Effect]:
        """Somebody has the server: nothing is begun until this peer tried it, too."""
        self._said.pop(client, None)
        if self.stage in (Stage.ATTENDED, Stage.AVERAGING):
            return []
        self._call_again(now)
        if self._hastened is not None and now < self._hastened + self._patience:
            return []
        self._hastened = now
        return [Hasten()]

    # Calling, and setting out.

    def _calls(self) -> Certificate | None:
        """The certificate of what this peer would go on from, if it can."""
        shown = self.certificate
        ready = self.stage is Stage.CALLING and self._idle and self.plan and self.order
        if not ready or shown is None or shown.weights != self._holds or self.own not in shown.survivors:
            return None
        return shown

    def _call(self) -> Unattended:
        measures = self.exam is not None and self._measured != self._holds
        return Unattended(
            round=self.number, weights=self._holds or "", steward=self.steward, measures=measures
        )

    def _call_out(self, now: float) -> list[Effect]:
        self._wait(now)
        if self._calls() is None:
            return []
        self._called = now if self._called is None else self._called
        return [*self._say(self._call()), *self._lead(now)]

    def _callers(self) -> dict[str, Unattended]:
        """Who would go on from the same weights, this peer included."""
        callers = {
            client: said
            for client, said in self._said.items()
            if client in self.others and said.weights == self._holds
        }
        return {**callers, self.own: self._call()}

    def _lead(self, now: float) -> list[Effect]:
        """Sets out, if this peer is the steward and enough are there.

        A steward that does nothing, as it hears too few, makes way for the next one after twice the patience.
        """
        shown = self._calls()
        if shown is None or self._called is None or not self.steward:
            return []
        callers = self._callers()
        before = sum(said.steward and client < self.own for client, said in callers.items())
        waits = 2 * before + (len(callers) < len(shown.survivors))
        if len(callers) < most_of(shown) or now < self._called + waits * self._patience:
            return []
        number = 1 + max(said.round for said in callers.values())
        able = sorted(client for client, said in callers.items() if said.measures)
        frame = SetOut(
            round=number, weights=shown.weights, measures=able[number % len(able)] if able else None
        )
        members = sorted(callers)
        self._leading = Stewardship(number, shown, members, now + self._seconds)
        others = [client for client in members if client != self.own]
        return [Say(others, frame), *self._set_out(self.own, frame, now)]

    def _follow(self, client: str, frame: SetOut, now: float) -> list[Effect]:
        shown = self._calls()
        called = shown is not None and self._called is not None
        follows = self.number < frame.round <= self.number + MOST_AHEAD
        if not called or frame.weights != self._holds or not follows:
            return []
        return self._set_out(client, frame, now)

    @property
    def _seconds(self) -> float:
        """From setting out to the group, at most: who measures has as much time to train as the others."""
        return self.order.seconds * (1 + MEASURING_SHARE) if self.order else 0.0

    def _set_out(self, leader: str, frame: SetOut, now: float) -> list[Effect]:
        if self.plan is None or self.order is None:
            return []
        self._leader, self.number = leader, frame.round
        # A call counts once.
        self._said.clear()
        self.plan = next_plan(self.plan, frame.round, frame.weights, self.order.seconds)
        if frame.measures == self.own and self.exam is not None:
            self.stage = Stage.MEASURING
            self.exam = next_evaluation(self.exam, self.plan, MEASURING_SHARE * self.order.seconds)
            self._due = now + self.exam.seconds
            return [Agree(self.exam)]
        return self._train(now)

    def _train(self, now: float) -> list[Effect]:
        self.stage, self._idle = Stage.TRAINING, False
        self._due = now + self._seconds + 2 * self._patience
        return [Agree(self.plan)] if self.plan else []

    def _has_measured(self, report: Evaluation, now: float) -> list[Effect]:
        if self.stage is not Stage.MEASURING:
            return []
        self._measured = self._holds
        return [*self._say(replace(report, round=self._certified_round)), *self._train(now)]

    @property
    def _certified_round(self) -> int:
        return self.certificate.round if self.certificate else 0

    # From trained to averaged.

    def _trained(self, report: TrainedFrame, now: float) -> list[Effect]:
        self._idle = True
        if self.stage is not Stage.TRAINING or report.round != self.number or self._leader is None:
            return []
        self.stage = Stage.TRAINED
        if self._leader != self.own:
            return [Say([self._leader], report)]
        return self._trained_by(self.own, report, now)

    def _trained_by(self, client: str, report: TrainedFrame, now: float) -> list[Effect]:
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
        leading, last = self._leading, self.order
        if leading is None or last is None or not (leading.complete or now >= leading.until):
            return []
        self._leading = None
        order = leading.order(last, self.own, self._salt)
        self._salt += 1
        if order is None or self.stage is not Stage.TRAINED:
            self._call_again(now)
            return []
        others = [client for client in order.members if client != self.own]
        return [Say(others, order), *self._average(order)]

    def _ordered(self, client: str, order: Group) -> list[Effect]:
        shown, last = self.certificate, self.order
        if self.stage is not Stage.TRAINED or client != self._leader or shown is None or last is None:
            return []
        if order.round != self.number or objection(order, last, shown, self.own):
            return []
        return self._average(order)

    def _average(self, order: Group) -> list[Effect]:
        self._leave()
        self.stage, self._idle, self._due = Stage.AVERAGING, False, None
        return [Agree(order)]

    def _averaged(self, order: Group, weights: str, now: float) -> None:
        self.order, self._holds, self._idle = order, weights, True
        self.number = max(self.number, order.round)
        if self.stage is Stage.AVERAGING:
            # The patience is over already: the certificate of the new weights calls.
            self.stage, self._called, self._due = Stage.CALLING, None, None
        elif self.stage is Stage.CALLING:
            self._wait(now)

    def _failed(self, now: float) -> None:
        self._idle = True
        if self.stage is Stage.AVERAGING:
            self._call_again(now)

    def _certified(self, certificate: Certificate, now: float) -> list[Effect]:
        if self._holds is not None and certificate.weights != self._holds:
            return []
        self.certificate, self._holds = certificate, certificate.weights
        return self._call_out(now) if self.stage is Stage.CALLING and self._due is None else []

    # Time.

    def _time_passed(self, now: float) -> list[Effect]:
        effects = self._form(now)
        if self._due is None or now < self._due:
            return effects
        match self.stage:
            case Stage.CALLING:
                return [*effects, *self._call_out(now)]
            case Stage.MEASURING:
                return [*effects, *self._train(now)]
            case _:
                self._call_again(now)
        return effects

    def _call_again(self, now: float) -> None:
        """What was begun leads nowhere: everybody calls anew."""
        self._leave()
        self.stage, self._called = Stage.CALLING, None
        self._wait(now)

    def _leave(self) -> None:
        self._leader = self._leading = None
