"""What a peer of a mesh does, as a machine without I/O; `mesh/member.ts` is its mirror in the browser.

It trains by the server's plans, averages in the groups that the server names, and goes on with both while the
server is away. docs/reference/mesh.md has the protocol, `allreduce` what happens within a group;
tests/contract/vectors/mesh_member.json holds conversations that both languages replay. Its parts:
connection.py has the connection, member_work.py a round's work, evaluation.py what is measured,
member_entry.py what a peer says of itself.
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
from backend.protocols.mesh.member_work import InHand
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
    """What the peer does, in the word that its page or terminal explains."""

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
    """One peer of one task's mesh: owns what it trains, averages and reports."""

    connection: TaskConnection = field(default_factory=TaskConnection)
    enter: mesh_messages.Enter | None = None
    entered: mesh_messages.Entered | None = None
    ready: Ready | None = None
    # Whether this connection's server knows that: in a group it waits until that has ended.
    said_ready: bool = False
    in_hand: InHand = field(default_factory=InHand)
    evaluation: AssignedEvaluation = field(default_factory=AssignedEvaluation)
    # Whether that is what the peers agreed on without the server: then it is nothing to the server.
    by_peers: bool = False
    finished: bool = False
    averaged: int = 0
    failed: int = 0
    reason: str | None = None

    @property
    def phase(self) -> MeshPhase:
        if (away := self.connection.away) and not self._goes_on:
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
    def _goes_on(self) -> bool:
        """Whether it works at what the peers agreed on."""
        return self.by_peers and (self.in_hand.is_work or self.evaluation.is_measuring)

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
            case BundleLoaded(backend, step_ms, examples):
                return self._loaded(Ready(backend=backend, step_ms=step_ms, examples=examples))
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
        return [SendToServer(self.enter)]

    def _disconnected(self, random: float) -> list[Effect]:
        """Training and averaging go on: neither needs the server."""
        self.connection, again = self.connection.disconnected(random)
        self.said_ready = self.said_ready and not again
        return [*again]

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
        report = self.in_hand.told_of(event)
        if report is None:
            return []
        self.in_hand = replace(self.in_hand, trained=report)
        if self.enter:
            self.enter = member_entry.fetched(self.enter, report)
        return self._say(report)

    def _averaged(self, event: GroupAveraged) -> list[Effect]:
        if not self.in_hand.is_of(event):
            return []
        self.averaged += 1
        if self.enter:
            self.enter = member_entry.averaged(self.enter, event)
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
        if not self.in_hand.is_of(event):
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
            self.enter = member_entry.certified(self.enter, certificate)
        return []

    def _measured(self, event: VersionMeasured) -> list[Effect]:
        self.evaluation, found = self.evaluation.measured(event)
        return self._say(found) if found else []

    def _say(self, frame: mesh_messages.PeerToServer) -> list[Effect]:
        """Sends it now, or after the next `entered`, where what was not answered is said again."""
        return [SendToServer(frame)] if self.connection.is_open else []

    def _say_ready(self) -> list[Effect]:
        if self.ready is None or not self.connection.is_open:
            return []
        self.said_ready = True
        return [SendToServer(self.ready)]

    def _greet(self) -> list[Effect]:
        return [] if self.said_ready else self._say_ready()

    def _frame(self, frame: mesh_messages.ServerToPeer) -> list[Effect]:
        """Before `entered` only that and `closing` make sense, after it everything but `entered`."""
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
        """Stands for what the server would say; while that is there, it says so itself."""
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
        known, self.entered = self.entered, frame
        self.connection = self.connection.welcomed()
        if known is None or known.bundle != frame.bundle:
            # The first visit, or the task's model was converted again while we were away.
            self.ready, self.by_peers = None, False
            if self.enter:
                self.enter = member_entry.without_foreign(self.enter, frame.bundle)
            return [*self._forget_all(), Load(frame.bundle)]
        if self.ready is None or self.in_hand.group is not None:
            return []
        aborted = self._forget_agreed()
        report = self.in_hand.report
        reported: list[Effect] = [SendToServer(report)] if report else []
        waiting = None if report else self.in_hand.trained
        said = (SendToServer(one) for one in (waiting, self.evaluation.result) if one)
        return [*aborted, *reported, *self._say_ready(), *said]

    def _forget_agreed(self) -> list[Effect]:
        """The server is back: what it did not order, and is not in a group, ends."""
        if not self.by_peers:
            return []
        self.by_peers = False
        return [*([] if self.in_hand.report else self._forget_round()), *self._forget_evaluation()]

    def _train(self, plan: Train) -> list[Effect]:
        if self.ready is None:
            return []
        if self.in_hand.repeats(plan):
            # The server repeats the plan after a reconnection; the work in hand is the one it asks for. One
            # that was restarted opens the round only now, and has passed over what was said on entering.
            waiting = self.in_hand.trained if self.in_hand.group is None else None
            return self._say(waiting) if waiting else []
        aborted = self._forget_all()
        self.in_hand, self.finished = InHand(plan), False
        return [*aborted, StartTraining(plan)]

    def _group(self, order: mesh_messages.Group) -> list[Effect]:
        """An order counts once, for what was trained, and only for a group that this peer is in."""
        if self.entered is None or self.entered.client not in order.members:
            return []
        if not self.in_hand.awaits(order):
            return []
        self.in_hand = replace(self.in_hand, group=order)
        return [Average(order)]

    def _evaluate(self, request: Evaluate) -> list[Effect]:
        """Training and averaging come first: who does either says nothing."""
        if self.ready is None or (self.in_hand.plan and self.in_hand.report is None):
            return []
        if self.evaluation.is_of(request):
            # Repeated after a reconnection, like a plan.
            return self._say(self.evaluation.result) if self.evaluation.result else []
        self.evaluation, effects = self.evaluation.asked(request)
        return [*effects]

    def _over(self, number: int) -> list[Effect]:
        """Round `number`, and all before it, are over for the server.

        A group goes on to its own end. Who had not come to one must say that it is ready for the next round.
        """
        plan = self.in_hand.plan
        if plan is None or plan.round > number or self.in_hand.group is not None:
            return []
        late = self.in_hand.report is None
        aborted = self._forget_round()
        return [*aborted, *self._say_ready()] if late else aborted

    def _forget_round(self) -> list[Effect]:
        left, self.in_hand = self.in_hand, InHand()
        return [*left.aborted()]

    def _forget_evaluation(self, until: int | None = None) -> list[Effect]:
        self.evaluation, aborted = self.evaluation.forgotten(until)
        return [*aborted]

    def _forget_all(self) -> list[Effect]:
        return [*self._forget_round(), *self._forget_evaluation()]
