"""Fetches the rows and weights of work units, and trains units from the weights that the plan names."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from backend.errors import PeerError
from backend.numerics.aggregation.asynchronous import elastic
from backend.peer.data.blob_cache import BlobCache
from backend.peer.training.engine import PlanData, ShardRows
from backend.peer.training.step import Vector
from backend.peer.training.trainer import TrainingPlan, TrainingProgress, TrainingResult
from backend.peer.training.training_jobs import TrainingJobs
from backend.peer.training.training_state import StateSaver, TrainingState
from backend.peer.units.checkpoint_folder import CheckpointFile
from backend.peer.units.snapshots import FetchedWeights
from backend.wire.unit_messages import Unit


@dataclass
class UnitWork:
    """One leased unit, from its arrival until it is forgotten.

    `stop` ends its training after the current step; `forgotten` discards its result. `steps` counts the steps
    taken so far, and `content` is the result to send. The training continues from `state`, if there is one,
    which an earlier process wrote to the `checkpoint`.
    """

    unit: Unit
    checkpoint: CheckpointFile | None = None
    stop: threading.Event = field(default_factory=threading.Event)
    forgotten: bool = False
    data: PlanData | None = None
    weights: Vector | None = None
    state: TrainingState | None = None
    steps: int = 0
    content: memoryview | None = None

    def forget(self) -> None:
        self.forgotten = True
        self.stop.set()


class UnitTrainer:
    """Fetches and trains units on the loaded bundle. Owns the weights that they start from.

    It writes a unit's checkpoint every `checkpoint_interval` seconds.
    """

    def __init__(self, blobs: BlobCache, jobs: TrainingJobs, checkpoint_interval: float = 0.0) -> None:
        self._blobs = blobs
        self._jobs = jobs
        self._interval = checkpoint_interval
        self._snapshots = FetchedWeights(self._weights)
        # The lease of the last result, and the weights after it.
        self._last_result: tuple[int, Vector] | None = None

    async def fetch(self, work: UnitWork) -> None:
        """Fetches the rows and the weights of a unit. Raises PeerError, and UnreachableError to retry."""
        unit = work.unit
        work.weights = await self._snapshots.take(unit.lease, unit.weights)
        work.data = await self._jobs.rows(ShardRows((unit.shard,), unit.first, unit.examples))

    async def resume(self, work: UnitWork) -> None:
        """Reads the checkpoint of a unit, if there is one: its training continues from there."""
        if work.checkpoint is None:
            return
        state = await asyncio.to_thread(work.checkpoint.read)
        if state is not None and state.fits(self._jobs.manifest):
            work.state, work.steps = state, state.steps

    async def train(self, work: UnitWork, report: Callable[[TrainingProgress], None]) -> TrainingResult:
        """Trains a fetched unit; `report` is called from the thread. Raises PeerError.

        Sets `work.content` to the change from the unit's weights, little-endian.
        """
        unit, weights, data = work.unit, work.weights, work.data
        if weights is None or data is None:
            raise PeerError(f"Unit {unit.unit} was not fetched.")
        plan = TrainingPlan(
            learning_rate=unit.learning_rate,
            seed=unit.seed,
            epochs=unit.epochs,
            steps=unit.steps,
            batch_size=unit.batch_size,
            past_steps=unit.past_steps,
            first_step=unit.first_step,
            proximal_mu=unit.proximal_mu,
        )
        start = self._start(unit, weights)

        def report_step(progress: TrainingProgress) -> None:
            work.steps = progress.step
            report(progress)

        saver = None
        if work.checkpoint is not None:
            saver = StateSaver(self._interval, work.checkpoint.write, work.state)
            work.state = None
        result = await self._jobs.run(plan, start, data, lambda *_: work.stop.is_set(), report_step, saver)
        work.steps, work.data, work.weights = result.steps, None, None
        if result.steps and not work.forgotten:
            end = result.end
            if end is None:
                raise PeerError(f"Unit {unit.unit} was trained without its last weights.")
            if unit.start != "given":
                self._last_result = (unit.lease, end)
            change = result.update if start is weights else end - weights
            work.content = memoryview(change.astype("<f4", copy=False).tobytes())
        return result

    def rejected(self, lease: int) -> None:
        """Discards the last result if it was of `lease`: the next training starts from the given weights."""
        if self._last_result is not None and self._last_result[0] == lease:
            self._last_result = None

    def release(self, lease: int) -> None:
        """Drops the weights of `lease`, which is over."""
        self._snapshots.release(lease)

    def _start(self, unit: Unit, weights: Vector) -> Vector:
        if self._last_result is None or unit.start == "given":
            return weights
        last = self._last_result[1]
        return last if unit.start == "own" else elastic(last, weights, unit.elasticity)

    async def _weights(self, address: str) -> Vector:
        length = self._jobs.manifest.parameters.total
        vector = np.frombuffer(await self._blobs.fetch(address, at_most=4 * length), "<f4")
        if vector.size != length:
            raise PeerError(f"Weights of {vector.size} values came where {length} are needed.")
        return vector
