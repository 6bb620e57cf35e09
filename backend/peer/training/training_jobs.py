"""Runs the server's orders on a peer's engine: what they need is fetched, and results are protected."""

from __future__ import annotations

import asyncio
import secrets
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np

from backend.errors import PeerError
from backend.formats.manifest import Manifest
from backend.peer.data.blob_cache import BlobSource
from backend.peer.data.local_data import LocalData
from backend.peer.data.shards import join_shards
from backend.peer.rounds.masking_host import MaskedModel
from backend.peer.training.control_variates import Variates
from backend.peer.training.engine import PlanData, ShardRows, TrainingEngine
from backend.peer.training.noise import fresh_words
from backend.peer.training.private_step import ExampleClip
from backend.peer.training.protection import protected
from backend.peer.training.step import Halt, Sums, Totals, Vector, read_totals, totals_size
from backend.peer.training.trainer import Control, TrainingPlan, TrainingProgress, TrainingResult
from backend.peer.training.training_state import StateSaver
from backend.wire.messages import Evaluate, Privacy, Train

T = TypeVar("T")
Order = TypeVar("Order", Train, Evaluate)

# Seeds of training are below 2**31.
SEED_BITS = 31


@dataclass
class TrainingJob(Generic[Order]):
    """One order of the server. `stop` ends it after the current step; `aborted` discards its result.

    `ends` is its deadline, by `time.monotonic`. `totals` are the sums over the shards that a measurement has
    finished, so that a retry after a failed download does not repeat them.
    """

    order: Order
    ends: float
    stop: threading.Event = field(default_factory=threading.Event)
    aborted: bool = False
    totals: list[Totals] = field(default_factory=list)

    def abort(self) -> None:
        self.aborted = True
        self.stop.set()

    def late(self, done: int, step_seconds: float) -> bool:
        """Whether the next step would end after the deadline."""
        del done
        return self.stop.is_set() or time.monotonic() + step_seconds > self.ends

    def late_for_more(self, done: int, step_seconds: float) -> bool:
        """Whether the next step would end after the deadline; the first step is always done."""
        return self.stop.is_set() or (done > 0 and self.late(done, step_seconds))


def example_clip(privacy: Privacy) -> ExampleClip | None:
    """Returns the per-example clipping that a plan's privacy asks for, if any."""
    if not privacy.microbatch:
        return None
    return ExampleClip(privacy.example_clip, privacy.example_noise, privacy.microbatch)


def training_seed(plan: Train) -> int:
    """Returns the seed of a plan's training, which orders the examples.

    In a masked round the client draws it: a server that knew it could have an update made again, and compare
    the sums in which it is.
    """
    return plan.seed if plan.masking is None else secrets.randbits(SEED_BITS)


class TrainingJobs:
    """Loads a bundle into an engine and runs orders on it. Owned by one session.

    `read_local_data` reads the client's own examples for a bundle; without it the peer trains on shards.
    """

    def __init__(
        self,
        engine: TrainingEngine,
        blobs: BlobSource,
        variates: Variates,
        read_local_data: Callable[[Manifest], LocalData] | None = None,
    ) -> None:
        self._engine = engine
        self._blobs = blobs
        self._variates = variates
        self._read_local_data = read_local_data
        # One thread: control variates are read in the order in which they were written.
        self._files = ThreadPoolExecutor(max_workers=1, thread_name_prefix="files")
        self._local_data: LocalData | None = None

    @property
    def busy(self) -> bool:
        """Whether the engine is computing; a step cannot be interrupted."""
        return self._engine.busy

    async def load(self, address: str) -> tuple[str, float, int]:
        """Fetches, checks and loads the bundle; returns backend, milliseconds per step, and own examples.

        Raises BundleError for a bundle that is refused, PeerError when it cannot be fetched or run here.
        """
        backend, step_ms = await self._engine.load(address)
        read, manifest = self._read_local_data, self._engine.manifest
        local_data = self._local_data = await self._in_thread(lambda: read(manifest)) if read else None
        examples = len(local_data.train) if local_data and local_data.partition is None else 0
        return backend, step_ms, examples

    @property
    def manifest(self) -> Manifest:
        """The manifest of the loaded bundle. Raises PeerError before one is loaded."""
        return self._engine.manifest

    @property
    def program(self) -> str | None:
        """The hash of the program that computes the same bits everywhere; None if none does."""
        return self._engine.program

    def update_bytes(self) -> int:
        """Returns the size of an update on the wire, in bytes."""
        return 4 * self.manifest.parameters.total

    def model(self) -> MaskedModel:
        """Returns the size of a masked update of the loaded bundle."""
        manifest = self.manifest
        return MaskedModel(manifest.parameters.total, sum(metric.rows for metric in manifest.metrics))

    async def train(
        self, job: TrainingJob[Train], name: str, report: Callable[[TrainingProgress], None]
    ) -> TrainingResult:
        """Runs the plan of `job`; `report` may come from a thread, `name` identifies the control variate.

        Raises PeerError.
        """
        order = job.order
        weights = await self._vector(order.weights, self.manifest.parameters.total)
        control = await self._control(order, name)
        plan = TrainingPlan(
            learning_rate=order.learning_rate,
            seed=training_seed(order),
            epochs=order.epochs,
            steps=order.steps,
            batch_size=order.batch_size,
            past_steps=order.past_steps,
            proximal_mu=order.proximal_mu,
            control=control,
            privacy=example_clip(order.privacy) if order.privacy else None,
            ends=job.ends,
        )
        data = await self._data(order)
        result = await self._engine.train(weights, plan, data, job.late_for_more, report)
        return await asyncio.to_thread(lambda: protected(result, order.privacy, fresh_words()))

    async def run(
        self,
        plan: TrainingPlan,
        weights: Vector,
        data: PlanData,
        halt: Halt,
        report: Callable[[TrainingProgress], None],
        saver: StateSaver | None = None,
    ) -> TrainingResult:
        """Trains by `plan` (`TrainingEngine.train`)."""
        return await self._engine.train(weights, plan, data, halt, report, saver)

    async def measure(self, job: TrainingJob[Evaluate]) -> tuple[int, float, Sums]:
        """Returns examples, mean loss and metric rows of the version; holds one shard in memory at a time.

        Raises PeerError.
        """
        request, local_data = job.order, self._local_data
        if not request.shards and (local_data is None or local_data.partition):
            return 0, 0.0, []
        weights = await self._vector(request.weights, self.manifest.parameters.total)
        if not request.shards and local_data:
            job.totals.append(await self._engine.totals(weights, local_data.holdout, job.late))
        for shard in request.shards[len(job.totals) :]:
            if not job.late(0, 0.0):
                data = await self.rows(ShardRows((shard,)))
                job.totals.append(await self._engine.totals(weights, data, job.late))
        return read_totals(sum(job.totals, np.zeros(totals_size(self.manifest.metrics), np.float64)))

    def keep(self, name: str, version: int, change: Vector, *, undo: bool) -> None:
        """Adds the change of an update from `version` to the control variate, or subtracts it again."""
        work = self._variates.take_back if undo else self._variates.add
        self._files.submit(work, name, version, change)

    async def close(self) -> None:
        """Lets the engine and the threads end once their work is done."""
        await self._engine.close()
        self._files.shutdown(wait=False)

    async def rows(self, rows: ShardRows) -> PlanData:
        """Returns examples of shards, ready for the engine. Raises PeerError and BundleError."""
        if self._local_data is None:
            return await self._engine.fetch(rows)
        parts = [self._local_data.part(shard.sha256) for shard in rows.shards]
        examples = parts[0] if len(parts) == 1 else join_shards(parts)
        if rows.count is None:
            return examples
        rows.check(len(examples))
        return examples.picked(slice(rows.first, rows.first + rows.count))

    async def _data(self, order: Train) -> PlanData:
        if order.shards:
            return await self.rows(ShardRows(tuple(order.shards)))
        if self._local_data and self._local_data.partition is None:
            return self._local_data.train
        raise PeerError("This task trains on its clients' own data; say which with --data.")

    async def _vector(self, address: str, length: int) -> Vector:
        vector = np.frombuffer(await self._blobs.get(address, at_most=4 * length), "<f4")
        if vector.size != length:
            raise PeerError(
                f"A vector of {vector.size} values came where {length} are needed; reload the task."
            )
        return vector

    async def _control(self, plan: Train, name: str) -> Control | None:
        if plan.control is None:
            return None
        length = self.manifest.parameters.trainable
        server = await self._vector(plan.control, length)
        # The change of the previous round is written in the same thread, so it is included.
        client = await self._in_thread(lambda: self._variates.read(name, plan.version, length))
        return Control(server, client)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._files, work)
