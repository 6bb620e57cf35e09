"""A mesh peer, as a state machine without I/O; the twin in the browser is `mesh/member.ts`.

It trains by the server's plans and averages in the groups that the server names; it continues both while the
server is away. docs/reference/mesh.md has the protocol, `allreduce` the exchange within a group;
tests/contract/vectors/mesh_member.json has conversations that both languages replay. Its parts:
connection.py has the connection, member_work.py a round's work, evaluation.py the evaluation, member_entry.py
the peer's `enter` frame.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum

from msgspec import structs

from backend.protocols.client.connection import ConnectionState, TaskConnection
from backend.protocols.client.evaluation import AssignedEvaluation
from backend.protocols.client.participant_events import (
    BundleLoaded,
    Close,
    Connected,
    Disconnected,
    Load,
    StartTraining,
    StopParticipant,
    VersionMeasured,
)
from backend.protocols.mesh import member_entry
from backend.protocols.mesh.member_events import (
    Agreed,
    Average,
    Effect,
    EnterMesh,
    Event,
    GroupAveraged,
    GroupFailed,
    PlanTrained,
    SendToServer,
    ServerFrame,
    UploadDeposit,
    WeightsCertified,
)
from backend.protocols.mesh.member_work import MemberWork
from backend.protocols.mesh.serverless.last_round import FIRST_SERVERLESS_GROUP
from backend.wire import mesh_messages
from backend.wire.messages import (
    Abandoned,
    Closing,
    Evaluate,
    Evaluated,
    Leave,
    Ready,
    State,
    Train,
    Version,
)


class MeshPhase(StrEnum):
    """The peer's activity; its page or terminal explains these values."""

    STOPPED = "stopped"
    CONNECTING = "connecting"
    OFFLINE = "offline"
    LOADING = "loading"
    WAITING = "waiting"
    TRAINING = "training"
    TRAINED = "trained"
    AVERAGING = "averaging"
    EVALUATING = "evaluating"
    FINISHED = "finished"


@dataclass
class MeshMember:
    """One peer of one task's mesh: owns its training, averaging and reports."""

    connection: TaskConnection = field(default_factory=TaskConnection)
    enter: mesh_messages.Enter | None = None
    entered: mesh_messages.Entered | None = None
    ready: Ready | None = None
    # Whether this connection's server knows `ready`: a peer in a group reports it after the group has ended.
    said_ready: bool = False
    in_hand: MemberWork = field(default_factory=MemberWork)
    evaluation: AssignedEvaluation = field(default_factory=AssignedEvaluation)
    # Whether the peers agreed on the work in hand without the server, which then learns nothing of it.
    by_peers: bool = False
    # The certificate in the last `enter`, and whether the server may not have seen how the last group ended.
    shown: mesh_messages.Certificate | None = None
    unseen: bool = False
    finished: bool = False
    averaged: int = 0
    failed: int = 0
    reason: str | None = None

    @property
    def phase(self) -> MeshPhase:
        if (away := self.connection.away) and not self._works_unattended:
            return MeshPhase(away)
        if self.ready is None:
            return MeshPhase.LOADING
        if self.finished:
            return MeshPhase.FINISHED
        if self.in_hand.group is not None:
            return MeshPhase.AVERAGING
        if self.in_hand.is_work:
            return MeshPhase.TRAINED if self.in_hand.trained else MeshPhase.TRAINING
        return MeshPhase.EVALUATING if self.evaluation.is_measuring else MeshPhase.WAITING

    @property
    def _works_unattended(self) -> bool:
        """Whether it works on a round that the peers agreed on without the server."""
        return self.by_peers and (self.in_hand.is_work or self.evaluation.is_measuring)

    def declines(self, number: int, group: int) -> bool:
        """Whether it never follows an order of the peers for this group: it has the server, and is not in it.

        The server may use that round's number, too; its groups have other numbers.
        """
        order = self.in_hand.group
        is_in_group = order is not None and (order.round, order.group) == (number, group)
        return group >= FIRST_SERVERLESS_GROUP and self.connection.is_open and not is_in_group

    def handle(self, event: Event) -> list[Effect]:
        """Changes the state by one event and returns what the host has to do, in order."""
        match event:
            case EnterMesh(enter):
                return self._start(enter)
            case Connected():
                return self._connected()
            case ServerFrame(frame):
                return self._frame(frame)
            case Agreed(frame):
                return self._agreed(frame)
            case BundleLoaded(backend, step_ms, examples, program):
                ready = Ready(backend=backend, step_ms=step_ms, examples=examples, program=program)
                return self._loaded(ready)
            case PlanTrained():
                return self._trained(event)
            case GroupAveraged():
                return self._averaged(event)
            case GroupFailed():
                return self._failed(event)
            case WeightsCertified(certificate):
                return self._certified(certificate)
            case VersionMeasured():
                return self._measured(event)
            case Disconnected(random):
                return self._disconnected(random)
            case StopParticipant():
                return self._stop()

    def _start(self, enter: mesh_messages.Enter) -> list[Effect]:
        if not self.connection.is_closed:
            return []
        self.enter, self.finished, self.reason, self.by_peers = enter, False, None, False
        self.connection, connect = self.connection.started()
        return [connect]

    def _connected(self) -> list[Effect]:
        if self.enter is None or not self.connection.awaits_greeting:
            return []
        self.connection = self.connection.greeted()
        if self.ready:
            self.enter = structs.replace(self.enter, backend=self.ready.backend)
        self.shown = self.enter.certificate
        return [SendToServer(self.enter)]

    def _disconnected(self, random: float) -> list[Effect]:
        """Loses the connection. Training and averaging continue: neither needs the server."""
        self.connection, effects = self.connection.disconnected(random)
        self.said_ready = self.said_ready and not effects
        return [*effects]

    def _stop(self) -> list[Effect]:
        if self.connection.is_closed:
            return []
        farewell = self._say(Leave())
        self.connection = self.connection.closed()
        return [*farewell, Close(), *self._forget_all()]

    def _loaded(self, ready: Ready) -> list[Effect]:
        if self.entered is None or self.ready is not None:
            return []
        self.ready = ready
        return self._say_ready()

    def _trained(self, event: PlanTrained) -> list[Effect]:
        report = self.in_hand.trained_report(event)
        if report is None:
            return []
        self.in_hand = replace(self.in_hand, trained=report)
        if self.enter:
            self.enter = member_entry.with_fetched_weights(self.enter, report)
        return self._say(report)

    def _averaged(self, event: GroupAveraged) -> list[Effect]:
        if not self.in_hand.ends_group(event):
            return []
        self.averaged += 1
        if self.enter:
            self.enter = member_entry.with_averaged_weights(self.enter, event)
        return self._reported(
            mesh_messages.Averaged(
                round=event.round,
                group=event.group,
                weights=event.weights,
                survivors=event.survivors,
                fraction=event.fraction,
                seconds=event.seconds,
                signature=event.signature,
            )
        )

    def _failed(self, event: GroupFailed) -> list[Effect]:
        if not self.in_hand.ends_group(event):
            return []
        self.failed += 1
        self.reason = event.reason
        return self._reported(mesh_messages.Failed(round=event.round, group=event.group, reason=event.reason))

    def _reported(self, report: mesh_messages.Averaged | mesh_messages.Failed) -> list[Effect]:
        self.in_hand = replace(self.in_hand, group=None, report=report)
        self.by_peers = self.by_peers and not self.connection.is_open
        # In this order: with the report the server knows what this peer holds before it makes new plans.
        return [*self._say(report), *self._greet()]

    def _certified(self, certificate: mesh_messages.Certificate) -> list[Effect]:
        if self.enter:
            self.enter = member_entry.with_certificate(self.enter, certificate)
        return self._show_certificate() if self.unseen else []

    def _show_certificate(self) -> list[Effect]:
        """Shows the server the certificate that `enter` did not have."""
        enter = self.enter
        if enter is None or enter.certificate is None or not self.connection.is_open:
            return []
        if enter.certificate == self.shown:
            return []
        self.shown = enter.certificate
        return [SendToServer(mesh_messages.Certified(certificate=enter.certificate, chain=enter.chain))]

    def _measured(self, event: VersionMeasured) -> list[Effect]:
        self.evaluation, report = self.evaluation.measured(event)
        return self._say(report) if report else []

    def _say(self, frame: mesh_messages.PeerToServer) -> list[Effect]:
        """Sends a frame if the connection is open; after `entered` unanswered reports are repeated."""
        return [SendToServer(frame)] if self.connection.is_open else []

    def _say_ready(self) -> list[Effect]:
        if self.ready is None or not self.connection.is_open:
            return []
        self.said_ready = True
        return [SendToServer(self.ready)]

    def _greet(self) -> list[Effect]:
        return [] if self.said_ready else self._say_ready()

    def _frame(self, frame: mesh_messages.ServerToPeer) -> list[Effect]:
        """Before `entered` only that and `closing` are legal, after it every frame but `entered`."""
        match frame, self.connection.state:
            case mesh_messages.Entered(), ConnectionState.GREETED:
                return self._entered(frame)
            case Closing(), ConnectionState.GREETED | ConnectionState.OPEN:
                self.reason, self.connection = frame.reason, self.connection.dismissed(frame)
                return [Close(), *self._forget_all()] if self.connection.is_closed else []
            case Train(), ConnectionState.OPEN:
                return self._train(frame)
            case mesh_messages.Group(), ConnectionState.OPEN:
                return self._group(frame)
            case mesh_messages.Deposit(weights=weights), ConnectionState.OPEN:
                return [UploadDeposit(weights)]
            case Evaluate(), ConnectionState.OPEN:
                return self._evaluate(frame)
            case Version(version=version, round=number), ConnectionState.OPEN:
                return [*self._forget_evaluation(version - 1), *self._over(number)]
            case Abandoned(round=number), ConnectionState.OPEN:
                return self._over(number)
            case Evaluated(version=version, source="clients"), ConnectionState.OPEN:
                return self._forget_evaluation(version)
            case State(phase=phase, round=number, version=version), ConnectionState.OPEN:
                self.finished = phase == "finished"
                rest = self._forget_all() if self.finished else self._over(number - 1)
                return [*self._forget_evaluation(version - 1), *rest]
        return []

    def _agreed(self, frame: Train | mesh_messages.Group | Evaluate) -> list[Effect]:
        """Takes an agreement of the peers as a server's frame; ignored while the server is connected."""
        if (
            self.connection.state not in (ConnectionState.LOST, ConnectionState.GREETED)
            or self.ready is None
            or self.finished
        ):
            return []
        self.by_peers = True
        match frame:
            case Train():
                return self._train(frame)
            case mesh_messages.Group():
                return self._group(frame)
            case Evaluate():
                return self._evaluate(frame)

    def _entered(self, frame: mesh_messages.Entered) -> list[Effect]:
        before, self.entered, self.unseen = self.entered, frame, True
        self.connection = self.connection.welcomed()
        if before is None or (before.bundle, before.run) != (frame.bundle, frame.run):
            # The first connection, or the task restarted from zero, perhaps with another model.
            self.ready, self.by_peers = None, False
            if self.enter:
                self.enter = member_entry.without_foreign(self.enter, frame.bundle, frame.run)
            return [*self._forget_all(), Load(frame.bundle)]
        if self.ready is None or self.in_hand.group is not None:
            return []
        aborted = self._forget_agreed()
        report = self.in_hand.report
        reported: list[Effect] = [SendToServer(report)] if report else []
        waiting = None if report else self.in_hand.trained
        repeated = (SendToServer(report) for report in (waiting, self.evaluation.result) if report)
        return [*aborted, *self._show_certificate(), *reported, *self._say_ready(), *repeated]

    def _forget_agreed(self) -> list[Effect]:
        """Ends work that the returned server did not order, outside of a group."""
        if not self.by_peers:
            return []
        self.by_peers = False
        return [*([] if self.in_hand.report else self._forget_round()), *self._forget_evaluation()]

    def _train(self, plan: Train) -> list[Effect]:
        if self.ready is None:
            return []
        if self.in_hand.repeats(plan):
            # After a reconnection the server repeats the plan of the work in hand. A restarted server opens
            # the round only now, and has ignored the report that was sent on entering.
            waiting = self.in_hand.trained if self.in_hand.group is None else None
            return self._say(waiting) if waiting else []
        aborted = self._forget_all()
        self.in_hand, self.finished = MemberWork(plan), False
        return [*aborted, StartTraining(plan)]

    def _group(self, order: mesh_messages.Group) -> list[Effect]:
        """An order counts once, for what was trained, and only for a group that this peer is in."""
        if self.entered is None or self.entered.client not in order.members:
            return []
        if not self.in_hand.accepts_order(order):
            return []
        self.in_hand, self.unseen = replace(self.in_hand, group=order), self.by_peers
        return [Average(order)]

    def _evaluate(self, request: Evaluate) -> list[Effect]:
        """Takes a request to evaluate; training and averaging come first, then it is ignored."""
        if self.ready is None or (self.in_hand.plan and self.in_hand.report is None):
            return []
        if self.evaluation.is_of(request):
            # Repeated after a reconnection, like a plan.
            return self._say(self.evaluation.result) if self.evaluation.result else []
        self.evaluation, effects = self.evaluation.asked(request)
        return [*effects]

    def _over(self, number: int) -> list[Effect]:
        """Takes the end of round `number`, and of all before it, at the server.

        A group continues to its own end. A peer that was in none must report ready for the next round.
        """
        plan = self.in_hand.plan
        if plan is None or plan.round > number or self.in_hand.group is not None:
            return []
        late = self.in_hand.report is None
        aborted = self._forget_round()
        return [*aborted, *self._say_ready()] if late else aborted

    def _forget_round(self) -> list[Effect]:
        work, self.in_hand = self.in_hand, MemberWork()
        return [*work.abort_effects()]

    def _forget_evaluation(self, until: int | None = None) -> list[Effect]:
        self.evaluation, aborted = self.evaluation.forgotten(until)
        return [*aborted]

    def _forget_all(self) -> list[Effect]:
        return [*self._forget_round(), *self._forget_evaluation()]
