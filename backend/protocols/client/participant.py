"""The client in federated rounds as a machine without I/O; `participant.ts` is its mirror in the browser.

The host performs the effects and reports events; tests/contract/vectors/participant.json holds conversations
that both languages replay.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from msgspec.structs import replace

from backend.protocols.client.connection import ConnectionState, TaskConnection
from backend.protocols.client.evaluation import AssignedEvaluation
from backend.protocols.client.participant_events import (
    AbortTraining,
    BundleLoaded,
    Close,
    Connected,
    Disconnected,
    Effect,
    Event,
    KeepChange,
    Load,
    ParticipantFrame,
    RoundTrained,
    SendFrame,
    SendUpdateChunks,
    StartParticipant,
    StartTraining,
    StopParticipant,
    UndoChange,
    VersionMeasured,
)
from backend.protocols.client.privacy_promise import (
    BROKEN_WORD,
    hides_examples,
    plan_objection,
    welcome_objection,
)
from backend.wire.messages import (
    Abandoned,
    Accepted,
    ClientFrame,
    Closing,
    Credit,
    Evaluate,
    Evaluated,
    Hello,
    Leave,
    Offer,
    Ready,
    Refused,
    ServerFrame,
    State,
    Train,
    Version,
    Welcome,
)


class ParticipantPhase(StrEnum):
    """The phase of the participant, which its page or terminal explains."""

    STOPPED = "stopped"
    CONNECTING = "connecting"
    OFFLINE = "offline"
    LOADING = "loading"
    WAITING = "waiting"
    TRAINING = "training"
    UPLOADING = "uploading"
    EVALUATING = "evaluating"
    FINISHED = "finished"


@dataclass
class ParticipantMachine:
    """The participant of one task, over all its connections. Owned by its host alone.

    An event that does not fit the state has no effects and changes nothing.
    """

    connection: TaskConnection = field(default_factory=TaskConnection)
    hello: Hello | None = None
    bundle: str | None = None
    min_noise: float = 0.0
    # The server's first Welcome, or a later one with stronger terms; it outlives stops and starts.
    promised: Welcome | None = None
    ready: Ready | None = None
    plan: Train | None = None
    offer: Offer | None = None
    sent: int = 0
    evaluation: AssignedEvaluation = field(default_factory=AssignedEvaluation)
    # An accepted update with a change of the control variate, until a version contains it.
    counted: Offer | None = None
    finished: bool = False
    accepted: int = 0
    # Updates that were checked and do not count, and how many more have to be.
    checked: int = 0
    probation: int = 0
    refused: int = 0
    examples: int = 0
    reason: str | None = None

    @property
    def phase(self) -> ParticipantPhase:
        if away := self.connection.away:
            return ParticipantPhase(away)
        if self.ready is None:
            return ParticipantPhase.LOADING
        if self.finished:
            return ParticipantPhase.FINISHED
        if self.plan is None:
            return ParticipantPhase.EVALUATING if self.evaluation.is_measuring else ParticipantPhase.WAITING
        return ParticipantPhase.TRAINING if self.offer is None else ParticipantPhase.UPLOADING

    def handle(self, event: Event) -> list[Effect]:
        """Changes the state by one event and returns what the host has to do, in order."""
        match event:
            case StartParticipant():
                return self._start(event)
            case Connected():
                return self._connected()
            case ParticipantFrame(frame):
                return self._frame(frame)
            case BundleLoaded(backend, step_ms, examples, program):
                ready = Ready(backend=backend, step_ms=step_ms, examples=examples, program=program)
                return self._loaded(ready)
            case RoundTrained():
                return self._trained(event)
            case VersionMeasured():
                return self._measured(event)
            case Disconnected(random):
                self.connection, again = self.connection.disconnected(random)
                return [*again]
            case StopParticipant():
                return self._stop()

    def _start(self, event: StartParticipant) -> list[Effect]:
        if not self.connection.is_closed:
            return []
        self.hello, self.finished, self.reason = event.hello, False, None
        self.min_noise = event.min_noise
        self.connection, connect = self.connection.started()
        return [connect]

    def _connected(self) -> list[Effect]:
        if self.hello is None or not self.connection.awaits_greeting:
            return []
        self.connection = self.connection.greeted()
        backend = self.ready.backend if self.ready else self.hello.backend
        return [SendFrame(replace(self.hello, backend=backend))]

    def _stop(self) -> list[Effect]:
        if self.connection.is_closed:
            return []
        farewell = self._say(Leave())
        self.connection = self.connection.closed()
        return [*farewell, Close(), *self._forget_all()]

    def _loaded(self, ready: Ready) -> list[Effect]:
        if self.bundle is None or self.ready is not None:
            return []
        self.ready = ready
        return self._say(ready)

    def _trained(self, event: RoundTrained) -> list[Effect]:
        if self.plan is None or self.offer is not None or event.round != self.plan.round:
            return []
        # Loss and sums are computed from the examples without noise, so they are left out under privacy.
        masked = self.plan.masking is not None
        private = masked or self.plan.privacy is not None
        self.offer = Offer(
            round=event.round,
            version=self.plan.version,
            examples=0 if masked else event.examples,
            steps=0 if masked else event.steps,
            loss=0.0 if private else event.loss,
            sums=[] if private else event.sums,
            size=event.size,
        )
        self.sent = 0
        return self._say(self.offer)

    def _measured(self, event: VersionMeasured) -> list[Effect]:
        self.evaluation, found = self.evaluation.measured(event)
        return self._say(found) if found else []

    def _frame(self, frame: ServerFrame) -> list[Effect]:
        """Handles Welcome and Closing before the client is welcomed, and everything but Welcome after."""
        match frame, self.connection.state:
            case Welcome(), ConnectionState.GREETED:
                return self._welcome(frame)
            case Closing(), ConnectionState.GREETED | ConnectionState.OPEN:
                self.reason, self.connection = frame.reason, self.connection.dismissed(frame)
                return [Close(), *self._forget_all()] if self.connection.is_closed else []
            case Train(), ConnectionState.OPEN:
                return self._train(frame)
            case Evaluate(), ConnectionState.OPEN:
                return self._evaluate(frame)
            case Credit(round=number, until=until), ConnectionState.OPEN:
                return self._credit(number, until)
            case Accepted(round=number, counted=False, reason=""), ConnectionState.OPEN:
                self.checked += 1
                self.probation = max(0, self.probation - 1)
                return self._round_over(number)
            case Accepted(round=number, counted=False, reason=reason), ConnectionState.OPEN:
                self.reason = reason
                return self._round_over(number)
            case Accepted(round=number, examples=examples), ConnectionState.OPEN:
                self.accepted += 1
                self.examples += examples
                return [*self._counts(number), *self._round_over(number)]
            case Refused(round=number, reason=reason), ConnectionState.OPEN:
                self.refused += 1
                self.reason = reason
                return self._round_over(number)
            case Version(version=version, round=number), ConnectionState.OPEN:
                return [*self._learned(version), *self._missed(number)]
            case Abandoned(round=number), ConnectionState.OPEN:
                return [*self._undo(number), *self._missed(number)]
            case Evaluated(version=version, source="clients"), ConnectionState.OPEN:
                return self._forget_evaluation(version)
            case State(phase=phase, round=number, version=version), ConnectionState.OPEN:
                self.finished = phase == "finished"
                return [
                    *self._learned(version),
                    *(self._forget_all() if self.finished else self._missed(number - 1)),
                ]
        return []

    def _welcome(self, frame: Welcome) -> list[Effect]:
        if self.hello is None or frame.aggregation not in self.hello.aggregation:
            return self._break_off(BROKEN_WORD)
        if objection := welcome_objection(frame, self.promised, self.min_noise):
            return self._break_off(objection)
        self.promised, self.connection = frame, self.connection.welcomed()
        self.probation = frame.probation
        if self.bundle != frame.bundle:
            # The first visit, or the task's model was converted again while the client was away.
            self.bundle, self.ready, self.counted = frame.bundle, None, None
            return [*self._forget_all(), Load(frame.bundle)]
        if self.ready is None:
            return []
        self.sent = 0
        return [SendFrame(frame) for frame in (self.ready, self.offer, self.evaluation.result) if frame]

    def _break_off(self, reason: str) -> list[Effect]:
        self.connection, self.reason = self.connection.closed(), reason
        return [Close(), *self._forget_all()]

    def _train(self, plan: Train) -> list[Effect]:
        if self.ready is None or self.promised is None:
            return []
        if objection := plan_objection(plan, self.promised, self.ready.examples):
            return self._break_off(objection)
        mine = self.plan
        if mine and (mine.round, mine.version, mine.seed) == (plan.round, plan.version, plan.seed):
            # The server repeats the plan after a reconnection.
            return []
        undone = (
            self._undo(self.counted.round) if self.counted and plan.version <= self.counted.version else []
        )
        aborted = [*self._learned(plan.version), *self._forget_all()]
        self.plan, self.finished = plan, False
        return [*undone, *aborted, StartTraining(plan)]

    def _evaluate(self, request: Evaluate) -> list[Effect]:
        """Evaluates a version, unless the client is training, which comes first.

        Own examples are not measured where masks or noise hide them: their exact loss would say too much.
        """
        if self.ready is None or (self.plan and not self.offer):
            return []
        if not request.shards and hides_examples(self.promised):
            return []
        if self.evaluation.is_of(request):
            # Repeated after a reconnection, like a plan.
            return self._say(self.evaluation.result) if self.evaluation.result else []
        self.evaluation, effects = self.evaluation.asked(request)
        return [*effects]

    def _credit(self, number: int, until: int) -> list[Effect]:
        if self.offer is None or number != self.offer.round:
            return []
        start, until = self.sent, min(until, self.offer.size)
        if until <= start:
            return []
        self.sent = until
        return [SendUpdateChunks(number, start, until)]

    def _counts(self, number: int) -> list[Effect]:
        """Keeps the change of the control variate immediately: a client that stops has no other chance."""
        if not (self.plan and self.plan.control and self.offer and self.offer.round == number):
            return []
        self.counted = self.offer
        return [KeepChange(number)]

    def _undo(self, number: int) -> list[Effect]:
        if self.counted is None or self.counted.round != number:
            return []
        self.counted = None
        return [UndoChange(number)]

    def _learned(self, version: int) -> list[Effect]:
        """Notes that `version` exists: its updates need no undoing, and older versions no evaluation."""
        if self.counted and self.counted.version < version:
            self.counted = None
        return self._forget_evaluation(version - 1)

    def _round_over(self, number: int) -> list[Effect]:
        """Forgets the work of round `number` or an earlier one."""
        return self._forget_round() if self.plan and self.plan.round <= number else []

    def _missed(self, number: int) -> list[Effect]:
        """Forgets the work of a round; a client that had not reported yet says that it is ready again."""
        again: list[Effect] = (
            [SendFrame(self.ready)] if self.ready and self.phase is ParticipantPhase.TRAINING else []
        )
        aborted = self._round_over(number)
        return [*aborted, *again] if aborted else []

    def _forget_round(self) -> list[Effect]:
        training = self.plan is not None and self.offer is None
        self.plan, self.offer, self.sent = None, None, 0
        return [AbortTraining()] if training else []

    def _forget_evaluation(self, until: int | None = None) -> list[Effect]:
        self.evaluation, aborted = self.evaluation.forgotten(until)
        return [*aborted]

    def _forget_all(self) -> list[Effect]:
        return [*self._forget_round(), *self._forget_evaluation()]

    def _say(self, frame: ClientFrame) -> list[Effect]:
        """Sends a frame now; without an answer it is sent again after the next Welcome."""
        return [SendFrame(frame)] if self.connection.is_open else []
