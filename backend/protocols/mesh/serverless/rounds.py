"""Runs a mesh's rounds without its server, as a machine without I/O; the twin is serverless/rounds.ts.

    ATTENDED ── server lost ──> CALLING ── set_out ──> (MEASURING ──>) TRAINING ── group ──> AVERAGING
       ^                          ^                                       │                     │
       └── server reached ── any  └── time over, or the leader is lost ───┴── result or none ───┘

docs/decisions/0033-without-a-server.md says why it is right. The machine stands beside `MeshMember`, which
performs what is agreed on. Its host reports events with `now` (seconds of any steady clock), performs the
effects that they return, and reports `ServerlessTimePassed` at `timer()`. An event that comes at the wrong
time changes nothing. last_round.py makes the next round of the last one, elected_leader.py leads it.
"""

from __future__ import annotations

from msgspec.structs import replace

from backend.protocols.mesh.serverless import serverless_events
from backend.protocols.mesh.serverless.elected_leader import Callers, ElectedLeader, plan_round
from backend.protocols.mesh.serverless.last_round import (
    MAX_ROUNDS_AHEAD,
    KnownSurvivors,
    LastRound,
    order_error,
)
from backend.protocols.mesh.serverless.serverless_events import (
    TRANSITIONS,
    Agree,
    Effect,
    Event,
    SendToPeers,
    ServerlessStage,
)
from backend.wire.mesh_messages import Certificate, Group, Trained
from backend.wire.messages import Evaluation
from backend.wire.peer_messages import Attended, OnwardFrame, SetOut, Unattended


class ServerlessRounds:
    """One peer's part. `own` is its id, `can_lead` whether it can lead, `salt` a random number below 2^32.

    Owned by its host alone.
    """

    def __init__(self, own: str, can_lead: bool, salt: int = 0) -> None:
        self.own = own
        self.stage = ServerlessStage.ATTENDED
        self.last = LastRound()
        self.survivors = KnownSurvivors(own)
        self._can_lead = can_lead
        # The run of the task; None before the server was reached.
        self._run: str | None = None
        # Hashes of this peer's weights, and of the last ones that any peer measured.
        self._weights: str | None = None
        self._measured: str | None = None
        self._idle = True
        self._callers = Callers(own)
        self._leader: str | None = None
        # Only while this peer leads.
        self._leading: ElectedLeader | None = None
        self._salt = salt
        # When to call, or to wait no longer.
        self._due: float | None = None
        self._called_at: float | None = None
        self._reconnected_at: float | None = None

    def timer(self) -> float | None:
        """When `ServerlessTimePassed` is due next; None while only another event can change anything."""
        times = [self._due, self._leading.until if self._leading else None]
        return min((at for at in times if at is not None), default=None)

    def happened(self, event: Event, now: float) -> list[Effect]:
        """Changes the state by one event and returns what the host has to do, in order."""
        match event:
            case serverless_events.ServerReached(run):
                return self._server_reached(run)
            case serverless_events.ServerLost(busy):
                self._server_lost(busy, now)
            case serverless_events.ServerFrameReceived(frame):
                self.last.take_server_frame(frame)
            case serverless_events.PeerLinked(client):
                return self._link_up(client)
            case serverless_events.PeerLost(client):
                return self._link_down(client, now)
            case serverless_events.PeerFrameReceived(client, frame):
                return self._take_frame(client, frame, now)
            case serverless_events.LocalTrained(report):
                return self._take_own_training(report, now)
            case serverless_events.LocalGroupAveraged(order, weights):
                self._take_result(order, weights, now)
            case serverless_events.LocalGroupFailed():
                self._take_failure(now)
            case serverless_events.LocalGroupCertified(certificate):
                return self._take_certificate(certificate, now)
            case serverless_events.LocalMeasured(report):
                return self._take_evaluation(report, now)
            case serverless_events.ServerlessTimePassed():
                return self._time_passed(now)
        return []

    # The server.

    def _server_reached(self, run: str) -> list[Effect]:
        self._leave()
        self._enter(ServerlessStage.ATTENDED)
        self._due = None
        told = self._send(Attended())
        if self._run not in (None, run):
            # What was certified in another run of the task is no beginning of rounds in this one.
            self.last, self._weights, self.survivors.certificate = LastRound(), None, None
        self._run = run
        return told

    def _server_lost(self, busy: bool, now: float) -> None:
        if self.stage is ServerlessStage.ATTENDED:
            self._enter(ServerlessStage.CALLING)
            self._idle, self._called_at = not busy, None
            self._wait(now)

    # The others.

    def _wait(self, now: float) -> None:
        """Waits for the patience before it calls; a peer that never averaged has nothing to call for."""
        self._due = now + self.last.patience if self.last.order else None

    def _send(self, frame: OnwardFrame) -> list[Effect]:
        linked = self.survivors.linked
        return [SendToPeers(linked, frame)] if linked else []

    def _link_up(self, client: str) -> list[Effect]:
        self.survivors.add_link(client)
        if self._called_at is None or self._call_basis() is None or not self.survivors.has_other(client):
            return []
        return [SendToPeers([client], self._call())]

    def _link_down(self, client: str, now: float) -> list[Effect]:
        self.survivors.remove_link(client)
        self._callers.remove(client)
        if self._leading is not None:
            self._leading.remove(client)
            return self._form(now)
        if client == self._leader:
            self._call_again(now)
        return []

    def _take_frame(self, client: str, frame: OnwardFrame, now: float) -> list[Effect]:
        if not self.survivors.has_other(client):
            return []
        match frame:
            case Unattended():
                return self._take_call(client, frame, now)
            case Attended():
                return self._end_round(client, now)
            case SetOut():
                return self._follow(client, frame, now)
            case Trained():
                return self._take_training(client, frame, now)
            case Group():
                return self._take_order(client, frame)
            case Evaluation(round=number):
                self._measured = self._weights if number == self.survivors.round else self._measured
        return []

    def _take_call(self, client: str, frame: Unattended, now: float) -> list[Effect]:
        # Half as far ahead as a round may be: the others may have heard of fewer rounds than this peer.
        if frame.round <= self.last.certain + MAX_ROUNDS_AHEAD // 2:
            self._callers.add(client, frame)
        if self.stage is ServerlessStage.ATTENDED:
            return [SendToPeers([client], Attended())]
        return self._lead(now)

    def _end_round(self, client: str, now: float) -> list[Effect]:
        """A peer has the server: no round begins until this one has tried to reach it."""
        self._callers.remove(client)
        if self.stage in (ServerlessStage.ATTENDED, ServerlessStage.AVERAGING):
            return []
        self._call_again(now)
        if self._reconnected_at is not None and now < self._reconnected_at + self.last.patience:
            return []
        self._reconnected_at = now
        return [serverless_events.ReconnectNow()]

    # Calling, and setting out.

    def _call_basis(self) -> Certificate | None:
        """The certificate of the weights that the next round begins with; None if this peer cannot call."""
        certificate = self.survivors.certificate
        ready = self.stage is ServerlessStage.CALLING and self._idle and self.last.plan and self.last.order
        if not ready or certificate is None or not self.survivors.has(self.own):
            return None
        return certificate if certificate.weights == self._weights else None

    def _call(self) -> Unattended:
        measures = self.last.evaluation is not None and self._measured != self._weights
        return Unattended(
            round=self.last.number, weights=self._weights or "", steward=self._can_lead, measures=measures
        )

    def _call_out(self, now: float) -> list[Effect]:
        self._wait(now)
        if self._call_basis() is None:
            return []
        self._called_at = now if self._called_at is None else self._called_at
        return [*self._send(self._call()), *self._lead(now)]

    def _lead(self, now: float) -> list[Effect]:
        """Begins a round, if this peer is the leader and enough others call."""
        certificate = self._call_basis()
        if certificate is None or self._called_at is None or not self._can_lead:
            return []
        calls = self._callers.with_same_weights(self._call(), self.survivors.linked)
        waits = self._callers.count_waits(calls, certificate)
        if waits is None or now < self._called_at + waits * self.last.patience:
            return []
        frame = plan_round(calls, certificate)
        if not self.last.can_begin(frame.round):
            return []
        members = sorted(calls)
        self._leading = ElectedLeader(frame.round, certificate, members, now + self.last.seconds)
        others = [client for client in members if client != self.own]
        return [SendToPeers(others, frame), *self._begin_round(self.own, frame, now)]

    def _follow(self, client: str, frame: SetOut, now: float) -> list[Effect]:
        has_called = self._call_basis() is not None and self._called_at is not None
        if not has_called or frame.weights != self._weights or not self.last.can_begin(frame.round):
            return []
        return self._begin_round(client, frame, now)

    def _begin_round(self, leader: str, frame: SetOut, now: float) -> list[Effect]:
        self._leader = leader
        self._callers.clear()
        self.last.begin(frame.round, frame.weights)
        evaluation = self.last.begin_evaluation() if frame.measures == self.own else None
        if evaluation is None:
            return self._train(now)
        self._enter(ServerlessStage.MEASURING)
        self._due = now + evaluation.seconds
        return [Agree(evaluation)]

    def _train(self, now: float) -> list[Effect]:
        self._enter(ServerlessStage.TRAINING)
        self._idle = False
        self._due = now + self.last.seconds + 2 * self.last.patience
        return [Agree(self.last.plan)] if self.last.plan else []

    def _take_evaluation(self, report: Evaluation, now: float) -> list[Effect]:
        if self.stage is not ServerlessStage.MEASURING:
            return []
        self._measured = self._weights
        return [*self._send(replace(report, round=self.survivors.round)), *self._train(now)]

    # From trained to averaged.

    def _take_own_training(self, report: Trained, now: float) -> list[Effect]:
        self._idle = True
        is_expected = self.stage is ServerlessStage.TRAINING and report.round == self.last.number
        if not is_expected or self._leader is None:
            return []
        self._enter(ServerlessStage.TRAINED)
        if self._leader != self.own:
            return [SendToPeers([self._leader], report)]
        return self._take_training(self.own, report, now)

    def _take_training(self, client: str, report: Trained, now: float) -> list[Effect]:
        if self._leading is None:
            return []
        self._leading.add_trained(client, report)
        return self._form(now)

    def _form(self, now: float) -> list[Effect]:
        """Forms the group once all have trained or the time is over; calls again if too few have."""
        leading, last = self._leading, self.last.order
        if leading is None or last is None or not (leading.is_complete or now >= leading.until):
            return []
        self._leading = None
        order = leading.form_group(last, self.own, self._salt)
        self._salt += 1
        if order is None or self.stage is not ServerlessStage.TRAINED:
            self._call_again(now)
            return []
        others = [client for client in order.members if client != self.own]
        return [SendToPeers(others, order), *self._average(order)]

    def _take_order(self, client: str, order: Group) -> list[Effect]:
        certificate, last = self.survivors.certificate, self.last.order
        is_expected = self.stage is ServerlessStage.TRAINED and client == self._leader
        if not is_expected or certificate is None or last is None:
            return []
        if order.round != self.last.number or order_error(order, last, certificate, self.own):
            return []
        return self._average(order)

    def _average(self, order: Group) -> list[Effect]:
        self._leave()
        self._enter(ServerlessStage.AVERAGING)
        self._idle, self._due = False, None
        return [Agree(order)]

    def _take_result(self, order: Group, weights: str, now: float) -> None:
        self.last.take_group(order)
        self._weights, self._idle = weights, True
        if self.stage is ServerlessStage.AVERAGING:
            # Not after the patience: it calls as soon as the new weights are certified.
            self._enter(ServerlessStage.CALLING)
            self._called_at = self._due = None
        elif self.stage is ServerlessStage.CALLING:
            self._wait(now)

    def _take_failure(self, now: float) -> None:
        self._idle = True
        if self.stage is ServerlessStage.AVERAGING:
            self._call_again(now)

    def _take_certificate(self, certificate: Certificate, now: float) -> list[Effect]:
        if self._run not in (None, certificate.run):
            return []
        if self._weights is not None and certificate.weights != self._weights:
            return []
        self.survivors.certificate, self._weights = certificate, certificate.weights
        self.last.take_certain(certificate.round)
        return self._call_out(now) if self.stage is ServerlessStage.CALLING and self._due is None else []

    # Time.

    def _time_passed(self, now: float) -> list[Effect]:
        effects = self._form(now)
        if self._due is None or now < self._due:
            return effects
        if self.stage is ServerlessStage.CALLING:
            return [*effects, *self._call_out(now)]
        if self.stage is ServerlessStage.MEASURING:
            return [*effects, *self._train(now)]
        self._call_again(now)
        return effects

    def _call_again(self, now: float) -> None:
        """The round has failed: every peer calls again."""
        self._leave()
        self._enter(ServerlessStage.CALLING)
        self._called_at = None
        self._wait(now)

    def _leave(self) -> None:
        self._leader = self._leading = None

    def _enter(self, stage: ServerlessStage) -> None:
        if stage is not self.stage and stage not in TRANSITIONS[self.stage]:
            raise RuntimeError(f"A peer cannot go from {self.stage} to {stage}.")
        self.stage = stage
