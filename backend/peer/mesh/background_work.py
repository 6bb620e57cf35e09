"""Loads, trains and measures for one member of a mesh, beside its session."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from backend.peer.mesh.averager import TrainedWork
from backend.peer.mesh.learner import Learner
from backend.peer.training.training_jobs import TrainingJob
from backend.protocols.client.training_pace import Pace
from backend.protocols.mesh import member_events
from backend.wire.mesh_messages import Entered
from backend.wire.messages import Evaluate, Train


class Worker(Protocol):
    """Does what a plan asks: trains, or judges another member's work."""

    async def train(self, job: TrainingJob[Train], entered: Entered) -> TrainedWork | None:
        """Returns the trained work; None if there is none to average."""


class BackgroundWork:
    """The training and the measuring in hand. What they come to is posted to the session's machine."""

    def __init__(
        self,
        learner: Learner,
        post: Callable[[member_events.Event], None],
        spawn: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]],
    ) -> None:
        self._learner = learner
        self._post = post
        self._spawn = spawn
        self._training: TrainingJob[Train] | None = None
        self._measuring: TrainingJob[Evaluate] | None = None
        self._pace = Pace()
        # What the last training came to.
        self.trained: TrainedWork | None = None

    def load(self, bundle: str) -> None:
        """Loads the bundle."""
        self._spawn(self._load(bundle))

    def train(self, plan: Train, entered: Entered, worker: Worker | None) -> None:
        """Lets `worker`, or the learner, do what the plan asks."""
        seconds = self._pace.training_seconds(plan.seconds, 0)
        self._training = TrainingJob(plan, time.monotonic() + seconds)
        self._spawn(self._train(self._training, entered, worker or self._learner))

    def measure(self, request: Evaluate) -> None:
        """Measures a version on held-out examples."""
        seconds = self._pace.training_seconds(request.seconds, 0)
        self._measuring = TrainingJob(request, time.monotonic() + seconds)
        self._spawn(self._measure(self._measuring))

    def abort_training(self) -> None:
        """Ends the training without a result."""
        if self._training:
            self._training.abort()

    def abort_measuring(self) -> None:
        """Ends the measuring without a result."""
        if self._measuring:
            self._measuring.abort()

    def wind_down(self) -> None:
        """Ends the training after its current step."""
        if self._training:
            self._training.stop.set()

    async def _load(self, bundle: str) -> None:
        if loaded := await self._learner.load(bundle):
            self._post(loaded)

    async def _train(self, job: TrainingJob[Train], entered: Entered, worker: Worker) -> None:
        if work := await worker.train(job, entered):
            self.trained, result = work, work.result
            done = (result.examples, result.steps, result.loss, result.sums)
            self._post(member_events.PlanTrained(job.order.round, *done))

    async def _measure(self, job: TrainingJob[Evaluate]) -> None:
        if measured := await self._learner.measure(job):
            self._post(measured)
