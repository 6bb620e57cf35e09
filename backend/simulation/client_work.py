"""Simulates a client's training and measuring, and records its attempts."""

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

# Cost of a step without gradients and optimizer, relative to a whole training step.
FORWARD_COST = 1 / 3

# How a client drops out: its program crashes, only its connection breaks, or it leaves in order.
Exit = Literal["crash", "loss", "leave"]


@dataclass(frozen=True)
class ClientBehaviour:
    """A client's behaviour while it works on one plan. Times are seconds.

    It drops out by `exit` (None: it stays) `after` some time and returns after `away`. The server notices a
    silent exit only after `unnoticed`. Steps take `slowness` times their usual duration.
    """

    exit: Exit | None = None
    after: float = 0.0
    away: float = 0.0
    unnoticed: float = 0.0
    slowness: float = 1.0


@dataclass(frozen=True)
class SimulatedUpdate:
    """The result of training: the vector's bytes, and the figures of its offer."""

    vector: bytes
    examples: int
    steps: int
    loss: float
    sums: Sums


@dataclass(frozen=True)
class MeasurementFindings:
    """The result of measuring a version."""

    examples: int
    loss: float
    sums: Sums


def redact_for_privacy(update: SimulatedUpdate, plan: Train) -> SimulatedUpdate:
    """Removes loss and sums from an update if its plan has privacy, as real clients do."""
    return update if plan.privacy is None else replace(update, loss=0.0, sums=[])


class WorkModel(Protocol):
    """Provides training and measuring for simulated clients."""

    def bundle_bytes(self, kind: Kind) -> int:
        """Returns the bytes that a client of this kind downloads before its first round."""
        ...

    def steps(self, plan: Train) -> int:
        """Returns the number of steps in a plan."""
        ...

    def evaluation_steps(self, evaluation: Evaluate) -> int:
        """Returns the number of batches in a measurement."""
        ...

    def downloads(self, order: Train | Evaluate) -> dict[str, int]:
        """Returns address and size in bytes of all downloads needed before the first step."""
        ...

    def model(self) -> MaskedModel:
        """Returns the shape of an update as it is sent in the simulation."""
        ...

    def size(self, masking: Masking | None) -> int:
        """Returns the bytes of an update, which may be masked."""
        ...

    def train(self, client: str, plan: Train, steps: int) -> SimulatedUpdate:
        """Trains the first `steps` steps of the plan."""
        ...

    def measure(self, client: str, evaluation: Evaluate) -> MeasurementFindings:
        """Measures the version of `evaluation`."""
        ...

    def keep(self, client: str, number: int, *, undo: bool) -> None:
        """Applies the update of round `number` to the control variate, or reverts it (`undo`)."""
        ...


@dataclass
class PlanAttempt:
    """One plan that a client received, and its outcome.

    The plan allowed `seconds`; all of its steps would have taken `needed` seconds, from the plan to the
    update's last byte. `examples` were trained on. `cut`: the time was too short for all steps. `broken`: the
    client dropped out. `counted`: the server accepted the update.
    """

    round: int
    seconds: float
    needed: float
    cut: bool
    examples: float = 0.0
    broken: bool = False
    counted: bool = False


@dataclass
class SimulatedTrainer:
    """Owns one client's training and measuring; `id` is the client's, and `report` gets the results.

    `trained` gets each finished update, and calls `offer` when it may be sent.

    `attempts` lists all plans so far. `update` is the last round's number and the bytes that are sent; `size`
    is the length that these represent. As in real clients, `pace` learns from uploads how much time remains
    for training.
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
        """Trains on a plan whose downloads take `fetching` seconds."""
        self.stop_training()
        loop = asyncio.get_running_loop()
        planned, size = self.work.steps(plan), self.work.size(plan.masking)
        step_seconds, overhead = self.step_seconds * slowness, fetching + size / self.upload_rate
        available = self.pace.training_seconds(plan.seconds, size) - fetching
        steps = max(1, min(planned, int(available / step_seconds)))
        attempt = PlanAttempt(
            plan.round, plan.seconds, overhead + planned * step_seconds, cut=steps < planned
        )
        self.attempts.append(attempt)

        def trained() -> None:
            self._training = None
            update = redact_for_privacy(self.work.train(self.id, plan, steps), plan)
            self.size, attempt.examples = size, update.examples
            self.trained(plan, update)

        started_at = loop.time() + fetching
        self._training = (
            loop.call_at(started_at + steps * step_seconds, trained),
            started_at,
            plan.batch_size / step_seconds,
        )

    def offer(self, plan: Train, update: SimulatedUpdate, content: bytes) -> None:
        """Offers the update to the server, with the bytes `content`."""
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
        """Stops the training in progress; its examples count as wasted."""
        if self._training is not None:
            timer, started_at, rate = self._training
            timer.cancel()
            self.attempts[-1].examples = rate * max(0.0, asyncio.get_running_loop().time() - started_at)
            self._training = None

    def measure(self, evaluation: Evaluate, fetching: float) -> None:
        """Measures a version whose downloads take `fetching` seconds."""
        self.stop_measuring()
        seconds = fetching + self.work.evaluation_steps(evaluation) * FORWARD_COST * self.step_seconds

        def measured() -> None:
            self._measuring = None
            findings = self.work.measure(self.id, evaluation)
            self.report(
                participant_events.VersionMeasured(
                    round=evaluation.round,
                    version=evaluation.version,
                    examples=findings.examples,
                    loss=findings.loss,
                    sums=findings.sums,
                )
            )

        self._measuring = asyncio.get_running_loop().call_later(seconds, measured)

    def stop_measuring(self) -> None:
        """Stops the measurement in progress."""
        if self._measuring is not None:
            self._measuring.cancel()
            self._measuring = None

    def sending(self) -> None:
        """Records when the upload of the update starts."""
        if self._sending_since is None:
            self._sending_since = asyncio.get_running_loop().time()

    def answered(self) -> None:
        """Records the server's answer to the upload, and updates the pace."""
        if self._sending_since is not None:
            seconds = asyncio.get_running_loop().time() - self._sending_since
            self.pace = self.pace.uploaded(self.size, seconds)
        self._sending_since = None

    def accepted(self, number: int) -> None:
        """Records that the server accepted the update of round `number`."""
        for attempt in self.attempts[-1:]:
            attempt.counted = attempt.counted or attempt.round == number

    def dropped_out(self) -> None:
        """Records that the client dropped out of its current plan."""
        for attempt in self.attempts[-1:]:
            attempt.broken = True
