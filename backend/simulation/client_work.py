"""What a simulated client works on, and what became of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

from backend.peer.rounds.masking_host import MaskedModel
from backend.protocols.client import participant_events
from backend.protocols.client.training_pace import Pace
from backend.wire.masked_messages import Masking
from backend.wire.messages import Evaluate, Kind, Sums, Train

# A step without gradients and optimizer takes so much of one with them.
FORWARD_SHARE = 1 / 3

# How a client drops out: its program dies with the work, only its connection breaks, or it says goodbye.
Exit = Literal["crash", "loss", "leave"]


@dataclass(frozen=True)
class Turn:
    """What befalls a client while it works on one plan.

    It drops out `after` so many seconds by `exit` (None: it stays), and is back after `away` seconds. The
    server notices a silent exit only after `unnoticed` seconds. Steps take `slowness` times as long as usual.
    """

    exit: Exit | None = None
    after: float = 0.0
    away: float = 0.0
    unnoticed: float = 0.0
    slowness: float = 1.0


@dataclass(frozen=True)
class SimulatedUpdate:
    """What came of some steps: the vector's bytes, and what its offer says of it."""

    vector: bytes
    examples: int
    steps: int
    loss: float
    sums: Sums


@dataclass(frozen=True)
class MeasurementFindings:
    """What came of a measurement."""

    examples: int
    loss: float
    sums: Sums


def withheld(update: SimulatedUpdate, plan: Train) -> SimulatedUpdate:
    """What clients tell of an update: neither loss nor sums where the plan asks for privacy."""
    return update if plan.privacy is None else replace(update, loss=0.0, sums=[])


class WorkModel(Protocol):
    """How clients train and measure."""

    def bundle_bytes(self, kind: Kind) -> int:
        """What a client of this kind downloads before its first round."""
        ...

    def steps(self, plan: Train) -> int:
        """Steps that the plan asks for."""
        ...

    def evaluation_steps(self, request: Evaluate) -> int:
        """Batches of a measurement."""
        ...

    def downloads(self, order: Train | Evaluate) -> dict[str, int]:
        """Address and size in bytes of everything that has to be there before the first step."""
        ...

    def model(self) -> MaskedModel:
        """What an update is made of, as it is really sent."""
        ...

    def size(self, masking: Masking | None) -> int:
        """Bytes of an update, which may be masked."""
        ...

    def train(self, client: str, plan: Train, steps: int) -> SimulatedUpdate:
        """The first `steps` steps of the plan, done."""
        ...

    def measure(self, client: str, request: Evaluate) -> MeasurementFindings:
        """The measurement, made."""
        ...

    def keep(self, client: str, number: int, *, undo: bool) -> None:
        """The update of round `number` counts, or (`undo`) does not after all: for the control variate."""
        ...


@dataclass
class PlanAttempt:
    """One plan that one client got, and what became of it.

    It was given `seconds`, and all of its steps would have taken `needed`, from the plan to the update's last
    byte. `examples` were trained on. It is `cut` when the time was not enough for every step, `broken` when
    the client dropped out, `counted` when the server accepted the update.
    """

    round: int
    seconds: float
    needed: float
    cut: bool
    examples: float = 0.0
    broken: bool = False
    counted: bool = False


@dataclass
class SimulatedLabour:
    """Owns one client's training and measuring. `report` gets what they come to; `id` is the client's.

    `trained` gets an update that is made, and calls `offer` once it may be sent.

    `attempts` are all plans so far. `update` is the last round's with the bytes that are sent, `size` what
    they stand for. As in real clients, `pace` learns from uploads how much time is left for training.
    """

    id: str
    work: WorkModel
    step_seconds: float
    upload_rate: float
    report: Callable[[participant_events.Event], None]
    trained: Callable[[Train, SimulatedUpdate], None]
    attempts: list[PlanAttempt] = field(default_factory=list)
    update: tuple[int, bytes] = (0, b"")
    size: int = 0
    pace: Pace = field(default_factory=Pace)
    _sending_since: float | None = None
    _training: tuple[asyncio.TimerHandle, float, float] | None = None
    _measuring: asyncio.TimerHandle | None = None

    def train(self, plan: Train, fetching: float, slowness: float) -> None:
        """Works on a plan whose parts will be here after `fetching` seconds."""
        self.stop_training()
        loop = asyncio.get_running_loop()
        planned, size = self.work.steps(plan), self.work.size(plan.masking)
        each, around = self.step_seconds * slowness, fetching + size / self.upload_rate
        left = self.pace.training_seconds(plan.seconds, size) - fetching
        steps = max(1, min(planned, int(left / each)))
        attempt = PlanAttempt(plan.round, plan.seconds, around + planned * each, cut=steps < planned)
        self.attempts.append(attempt)

        def trained() -> None:
            self._training = None
            update = withheld(self.work.train(self.id, plan, steps), plan)
            self.size, attempt.examples = size, update.examples
            self.trained(plan, update)

        begin = loop.time() + fetching
        self._training = loop.call_at(begin + steps * each, trained), begin, plan.batch_size / each

    def offer(self, plan: Train, update: SimulatedUpdate, content: bytes) -> None:
        """The update may be sent, as `content`."""
        self.update = plan.round, content
        self.report(
            participant_events.RoundTrained(
                round=plan.round,
                size=len(content),
                examples=update.examples,
                steps=update.steps,
                loss=update.loss,
                sums=update.sums,
            )
        )

    def stop_training(self) -> None:
        """Ends the training in progress; what was trained until now was trained for nothing."""
        if self._training is not None:
            timer, begin, rate = self._training
            timer.cancel()
            self.attempts[-1].examples = rate * max(0.0, asyncio.get_running_loop().time() - begin)
            self._training = None

    def measure(self, request: Evaluate, fetching: float) -> None:
        """Measures a version whose parts will be here after `fetching` seconds."""
        self.stop_measuring()
        seconds = fetching + self.work.evaluation_steps(request) * FORWARD_SHARE * self.step_seconds

        def measured() -> None:
            self._measuring = None
            found = self.work.measure(self.id, request)
            self.report(
                participant_events.VersionMeasured(
                    round=request.round,
                    version=request.version,
                    examples=found.examples,
                    loss=found.loss,
                    sums=found.sums,
                )
            )

        self._measuring = asyncio.get_running_loop().call_later(seconds, measured)

    def stop_measuring(self) -> None:
        """Ends the measurement in progress."""
        if self._measuring is not None:
            self._measuring.cancel()
            self._measuring = None

    def sending(self) -> None:
        """Bytes of the update go out."""
        if self._sending_since is None:
            self._sending_since = asyncio.get_running_loop().time()

    def answered(self) -> None:
        """The server says whether the update counts."""
        if self._sending_since is not None:
            seconds = asyncio.get_running_loop().time() - self._sending_since
            self.pace = self.pace.uploaded(self.size, seconds)
        self._sending_since = None

    def accepted(self, number: int) -> None:
        """The server took the update of round `number` in."""
        for attempt in self.attempts[-1:]:
            attempt.counted = attempt.counted or attempt.round == number

    def broke_off(self) -> None:
        """The client dropped out of what it works on."""
        for attempt in self.attempts[-1:]:
            attempt.broken = True
