"""The client side of a task's socket as a machine without I/O; `participant.ts` is its mirror in the browser.

The host performs the effects and reports events; tests/vectors/participant.json holds conversations that both
languages replay.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from msgspec.structs import replace

from backend.protocols.participant_events import (
    AbortMeasuring,
    AbortTraining,
    Close,
    Connect,
    Connected,
    Disconnected,
    Effect,
    Event,
    Frame,
    KeepChange,
    Load,
    Loaded,
    Measure,
    Measured,
    Send,
    SendChunks,
    Start,
    StartTraining,
    Stop,
    Trained,
    UndoChange,
)
from backend.wire.messages import (
    Abandoned,
    Accepted,
    Closing,
    Credit,
    Evaluate,
    Evaluated,
    Evaluation,
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

FIRST_DELAY = 0.5
LONGEST_DELAY = 30.0
# Whom the server sent away comes back as if so many attempts had failed: not within its limits' seconds.
DISMISSED_ATTEMPTS = 4


class Phase(StrEnum):
    """What the participant does, in the word that its page or terminal explains."""

    STOPPED = "stopped"
    CONNECTING = "connecting"
    OFFLINE = "offline"
    LOADING = "loading"
    WAITING = "waiting"
    TRAINING = "training"
    UPLOADING = "uploading"
    EVALUATING = "evaluating"
    FINISHED = "finished"


class Link(StrEnum):
    """The connection: CLOSED by choice, OPENING for the first time, LOST until the next attempt succeeds.

    GREETED once Hello was sent, OPEN after Welcome.
    """

    CLOSED = "closed"
    OPENING = "opening"
    LOST = "lost"
    GREETED = "greeted"
    OPEN = "open"


@dataclass
class Participant:
    """One participant of one task, over as many connections as it takes. Owned by its host alone.

    An event that makes no sense in the present state has no effects and changes nothing.
    """

    link: Link = Link.CLOSED
    hello: Hello | None = None
    attempts: int = 0
    bundle: str | None = None
    ready: Ready | None = None
    plan: Train | None = None
    offer: Offer | None = None
    sent: int = 0
    exam: Evaluate | None = None
    evaluation: Evaluation | None = None
    # Accepted with a change of the control variate, and not yet seen in a version.
    counted: Offer | None = None
    finished: bool = False
    accepted: int = 0
    refused: int = 0
    examples: int = 0
    reason: str | None = None
    # Why the server closed the connection, until it is open again.
    dismissal: str | None = None

    @property
    def phase(self) -> Phase:
        match self.link:
            case Link.CLOSED:
                return Phase.STOPPED
            case Link.LOST:
                return Phase.OFFLINE
            case Link.OPENING | Link.GREETED:
                return Phase.CONNECTING
        if self.ready is None:
            return Phase.LOADING
        if self.finished:
            return Phase.FINISHED
        if self.plan is None:
            return Phase.EVALUATING if self._measuring else Phase.WAITING
        return Phase.TRAINING if self.offer is None else Phase.UPLOADING

    def handle(self, event: Event) -> list[Effect]:
        """Changes the state by one event and returns what the host has to do, in order."""
        match event:
            case Start(hello):
                return self._start(hello)
            case Connected():
                return self._connected()
            case Frame(frame):
                return self._frame(frame)
            case Loaded(backend, step_ms, examples):
                return self._loaded(Ready(backend=backend, step_ms=step_ms, examples=examples))
            case Trained():
                return self._trained(event)
            case Measured():
                return self._measured(event)
            case Disconnected(random):
                return self._disconnected(random)
            case Stop():
                return self._stop()

    def _start(self, hello: Hello) -> list[Effect]:
        if self.link is not Link.CLOSED:
            return []
        self.link, self.hello, self.attempts, self.finished = Link.OPENING, hello, 0, False
        self.reason = self.dismissal = None
        return [Connect(0.0)]

    def _connected(self) -> list[Effect]:
        if self.hello is None or self.link not in (Link.OPENING, Link.LOST):
            return []
        self.link = Link.GREETED
        backend = self.ready.backend if self.ready else self.hello.backend
        return [Send(replace(self.hello, backend=backend))]

    def _disconnected(self, random: float) -> list[Effect]:
        if self.link is Link.CLOSED:
            return []
        delay = min(LONGEST_DELAY, FIRST_DELAY * 2.0**self.attempts) * (0.5 + random)
        # Beyond this the delay no longer grows, and the power would one day overflow.
        self.attempts = min(self.attempts + 1, 10)
        self.link = Link.LOST
        return [Connect(delay)]

    def _stop(self) -> list[Effect]:
        if self.link is Link.CLOSED:
            return []
        effects: list[Effect] = [Send(Leave())] if self.link is Link.OPEN else []
        self.link = Link.CLOSED
        return [*effects, Close(), *self._forget_all()]

    def _loaded(self, ready: Ready) -> list[Effect]:
        if self.bundle is None or self.ready is not None:
            return []
        self.ready = ready
        return [Send(self.ready)] if self.link is Link.OPEN else []

    def _trained(self, event: Trained) -> list[Effect]:
        if self.plan is None or self.offer is not None or event.round != self.plan.round:
            return []
        self.offer = Offer(
            round=event.round,
            version=self.plan.version,
            examples=event.examples,
            steps=event.steps,
            loss=event.loss,
            sums=event.sums,
            size=event.size,
        )
        self.sent = 0
        return [Send(self.offer)] if self.link is Link.OPEN else []

    def _measured(self, event: Measured) -> list[Effect]:
        exam = self.exam
        if not exam or self.evaluation or (event.round, event.version) != (exam.round, exam.version):
            return []
        self.evaluation = Evaluation(
            round=event.round,
            version=event.version,
            examples=event.examples,
            loss=event.loss,
            sums=event.sums,
        )
        return [Send(self.evaluation)] if self.link is Link.OPEN else []

    def _frame(self, frame: ServerFrame) -> list[Effect]:
        """Before Welcome only Welcome and Closing make sense, after it everything but Welcome."""
        match frame, self.link:
            case Welcome(), Link.GREETED:
                return self._welcome(frame)
            case Closing(code=code, reason=reason), Link.GREETED | Link.OPEN:
                return self._closing(code, reason)
            case Train(), Link.OPEN:
                return self._train(frame)
            case Evaluate(), Link.OPEN:
                return self._evaluate(frame)
            case Credit(round=number, until=until), Link.OPEN:
                return self._credit(number, until)
            case Accepted(round=number, examples=examples), Link.OPEN:
                self.accepted += 1
                self.examples += examples
                return [*self._counts(number), *self._round_over(number)]
            case Refused(round=number, reason=reason), Link.OPEN:
                self.refused += 1
                self.reason = reason
                return self._round_over(number)
            case Version(version=version, round=number), Link.OPEN:
                return [*self._learned(version), *self._missed(number)]
            case Abandoned(round=number), Link.OPEN:
                return [*self._undo(number), *self._missed(number)]
            case Evaluated(version=version, source="clients"), Link.OPEN:
                return self._forget_exam(version)
            case State(phase=phase, round=number, version=version), Link.OPEN:
                self.finished = phase == "finished"
                return [
                    *self._learned(version),
                    *(self._forget_all() if self.finished else self._missed(number - 1)),
                ]
        return []

    def _welcome(self, frame: Welcome) -> list[Effect]:
        self.link, self.attempts, self.dismissal = Link.OPEN, 0, None
        if self.bundle != frame.bundle:
            # The first visit, or the task's model was converted again while we were away.
            self.bundle, self.ready, self.counted = frame.bundle, None, None
            return [*self._forget_all(), Load(frame.bundle)]
        if self.ready is None:
            return []
        self.sent = 0
        return [Send(frame) for frame in (self.ready, self.offer, self.evaluation) if frame]

    def _closing(self, code: str, reason: str) -> list[Effect]:
        self.reason = reason
        if code != "replaced":
            self.dismissal = reason
            if code != "idle":
                self.attempts = max(self.attempts, DISMISSED_ATTEMPTS)
            return []
        self.link = Link.CLOSED
        return [Close(), *self._forget_all()]

    def _train(self, plan: Train) -> list[Effect]:
        if self.ready is None:
            return []
        mine = self.plan
        if mine and (mine.round, mine.version, mine.seed) == (plan.round, plan.version, plan.seed):
            # The server repeats the plan after a reconnection; the work in hand is the one it asks for.
            return []
        undone = (
            self._undo(self.counted.round) if self.counted and plan.version <= self.counted.version else []
        )
        aborted = [*self._learned(plan.version), *self._forget_all()]
        self.plan, self.finished = plan, False
        return [*undone, *aborted, StartTraining(plan)]

    def _evaluate(self, exam: Evaluate) -> list[Effect]:
        """Training comes first: who trains says nothing."""
        if self.ready is None or (self.plan and not self.offer):
            return []
        mine = self.exam
        if mine and (mine.round, mine.version) == (exam.round, exam.version):
            # Repeated after a reconnection, like a plan.
            return [Send(self.evaluation)] if self.evaluation else []
        aborted = self._forget_exam()
        self.exam = exam
        return [*aborted, Measure(exam)]

    def _credit(self, number: int, until: int) -> list[Effect]:
        if self.offer is None or number != self.offer.round:
            return []
        start, until = self.sent, min(until, self.offer.size)
        if until <= start:
            return []
        self.sent = until
        return [SendChunks(number, start, until)]

    def _counts(self, number: int) -> list[Effect]:
        """A change of the control variate is kept at once: who stops now has no other chance."""
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
        """There is `version`: what made it needs no undoing, and older ones need no measuring."""
        if self.counted and self.counted.version < version:
            self.counted = None
        return self._forget_exam(version - 1)

    def _round_over(self, number: int) -> list[Effect]:
        """Nothing of round `number`, or of one before it, can count any more."""
        return self._forget_round() if self.plan and self.plan.round <= number else []

    def _missed(self, number: int) -> list[Effect]:
        """Like `_round_over`; one that had not reported yet must say that it is ready for the next round."""
        again: list[Effect] = [Send(self.ready)] if self.ready and self.phase is Phase.TRAINING else []
        aborted = self._round_over(number)
        return [*aborted, *again] if aborted else []

    def _forget_round(self) -> list[Effect]:
        training = self.plan is not None and self.offer is None
        self.plan, self.offer, self.sent = None, None, 0
        return [AbortTraining()] if training else []

    @property
    def _measuring(self) -> bool:
        return self.exam is not None and self.evaluation is None

    def _forget_exam(self, until: int | None = None) -> list[Effect]:
        """Forgets the measurement in hand, if it is of version `until` or an older one."""
        if self.exam is None or (until is not None and self.exam.version > until):
            return []
        measuring = self._measuring
        self.exam, self.evaluation = None, None
        return [AbortMeasuring()] if measuring else []

    def _forget_all(self) -> list[Effect]:
        return [*self._forget_round(), *self._forget_exam()]
