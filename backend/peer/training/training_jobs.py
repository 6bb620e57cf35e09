"""Runs a peer's computations in threads of their own, so that the socket never waits for TensorFlow."""

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
from backend.formats.manifest import Manifest, SignatureName, parse_manifest
from backend.peer.data.blob_cache import BlobSource
from backend.peer.data.local_data import LocalData
from backend.peer.data.shards import Examples, join_shards, read_shard
from backend.peer.rounds.masking_host import MaskedModel
from backend.peer.training.control_variates import Variates
from backend.peer.training.graphs import CheckedBundle, Device, check_bundle, import_graphs
from backend.peer.training.measurer import VersionMeasurer
from backend.peer.training.noise import fresh_words
from backend.peer.training.private_step import ExampleClip
from backend.peer.training.protection import protected
from backend.peer.training.step import Halt, Sums, Totals, Vector, read_totals, totals_size
from backend.peer.training.trainer import Control, Trainer, TrainingPlan, TrainingProgress, TrainingResult
from backend.wire.messages import Evaluate, Privacy, Shard, Train

T = TypeVar("T")
Order = TypeVar("Order", Train, Evaluate)

MAX_MANIFEST = 16 << 20
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


@dataclass
class _Loaded:
    address: str
    manifest: Manifest
    trainer: Trainer
    local_data: LocalData | None
    measurer: VersionMeasurer | None = None


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
    """Loads a bundle and runs orders on it, `at_once` concurrently. Owned by one session.

    `read_local_data` reads the client's own examples for a bundle; without it the peer trains on shards.
    """

    def __init__(
        self,
        blobs: BlobSource,
        device: Device,
        variates: Variates,
        read_local_data: Callable[[Manifest], LocalData] | None = None,
        at_once: int = 1,
    ) -> None:
        self._blobs = blobs
        self._device = device
        self._variates = variates
        self._read_local_data = read_local_data
        self._thread = ThreadPoolExecutor(max_workers=at_once, thread_name_prefix="tensorflow")
        self._running = 0
        self._loaded: _Loaded | None = None

    @property
    def busy(self) -> bool:
        """Whether a thread is working; a step of TensorFlow cannot be interrupted."""
        return self._running > 0

    async def load(self, address: str) -> tuple[str, float, int]:
        """Fetches, checks and loads the bundle; returns backend, milliseconds per step, and own examples.

        Raises BundleError for a bundle that is refused, PeerError when it cannot be fetched or run here.
        """
        bundle = await self._fetch_bundle(address, "train", "apply", "train_slice")
        trainer = await self._in_thread(lambda: Trainer(import_graphs(bundle, self._device)))
        step_ms = await self._in_thread(trainer.time_step)
        read = self._read_local_data
        local_data = await self._in_thread(lambda: read(bundle.manifest)) if read else None
        self._loaded = _Loaded(address, bundle.manifest, trainer, local_data)
        examples = len(local_data.train) if local_data and local_data.partition is None else 0
        return trainer.backend, step_ms, examples

    @property
    def manifest(self) -> Manifest:
        """The manifest of the loaded bundle. Raises PeerError before one is loaded."""
        return self._current().manifest

    def update_bytes(self) -> int:
        """Returns the size of an update on the wire, in bytes."""
        return 4 * self._current().manifest.parameters.total

    def model(self) -> MaskedModel:
        """Returns the size of a masked update of the loaded bundle."""
        manifest = self._current().manifest
        return MaskedModel(manifest.parameters.total, sum(metric.rows for metric in manifest.metrics))

    async def train(
        self, job: TrainingJob[Train], name: str, report: Callable[[TrainingProgress], None]
    ) -> TrainingResult:
        """Runs the plan of `job`; `report` is called from the thread, `name` identifies the control variate.

        Raises PeerError.
        """
        loaded, order = self._current(), job.order
        weights = await self._vector(order.weights, loaded.manifest.parameters.total)
        control = await self._control(order, name)
        if order.shards:
            examples = join_shards([await self.examples(shard) for shard in order.shards])
        elif loaded.local_data and loaded.local_data.partition is None:
            examples = loaded.local_data.train
        else:
            raise PeerError("This task trains on its clients' own data; say which with --data.")
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
        )
        trainer = loaded.trainer

        def work() -> TrainingResult:
            result = trainer.train(weights, plan, examples, job.late_for_more, report)
            return protected(result, order.privacy, fresh_words())

        return await self._in_thread(work)

    async def run(
        self,
        plan: TrainingPlan,
        weights: Vector,
        examples: Examples,
        halt: Halt,
        report: Callable[[TrainingProgress], None],
    ) -> TrainingResult:
        """Trains by `plan`, as `Trainer.train`; `report` is called from the thread."""
        trainer = self._current().trainer
        return await self._in_thread(lambda: trainer.train(weights, plan, examples, halt, report))

    async def measure(self, job: TrainingJob[Evaluate]) -> tuple[int, float, Sums]:
        """Returns examples, mean loss and metric rows of the version; holds one shard in memory at a time.

        Raises PeerError.
        """
        loaded, request = self._current(), job.order
        if not request.shards and (loaded.local_data is None or loaded.local_data.partition):
            return 0, 0.0, []
        weights = await self._vector(request.weights, loaded.manifest.parameters.total)
        measurer = loaded.measurer = loaded.measurer or await self._load_measurer(loaded.address)

        async def add(examples: Examples) -> None:
            job.totals.append(await self._in_thread(lambda: measurer.totals(weights, examples, job.late)))

        if not request.shards and loaded.local_data:
            await add(loaded.local_data.holdout)
        for shard in request.shards[len(job.totals) :]:
            if not job.late(0, 0.0):
                await add(await self.examples(shard))
        return read_totals(sum(job.totals, np.zeros(totals_size(loaded.manifest.metrics), np.float64)))

    def keep(self, name: str, version: int, change: Vector, *, undo: bool) -> None:
        """Adds the change of an update from `version` to the control variate, or subtracts it again."""
        work = self._variates.take_back if undo else self._variates.add
        self._submit(lambda: work(name, version, change))

    def close(self) -> None:
        """Lets the threads end once their work is done."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _current(self) -> _Loaded:
        if self._loaded is None:
            raise PeerError("No bundle is loaded yet.")
        return self._loaded

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
        length = self._current().manifest.parameters.trainable
        server = await self._vector(plan.control, length)
        # The change of the previous round is written in the same thread, so it is included.
        client = await self._in_thread(lambda: self._variates.read(name, plan.version, length))
        return Control(server, client)

    async def examples(self, shard: Shard) -> Examples:
        """Returns the examples of a shard, ready for the graphs. Raises PeerError and BundleError."""
        loaded = self._current()
        if loaded.local_data is not None:
            return loaded.local_data.part(shard.sha256)
        return read_shard(await self._blobs.get(shard.sha256), loaded.manifest)

    async def _load_measurer(self, address: str) -> VersionMeasurer:
        bundle = await self._fetch_bundle(address, "evaluate")
        return await self._in_thread(lambda: VersionMeasurer(import_graphs(bundle, self._device)))

    async def _fetch_bundle(self, address: str, *names: SignatureName) -> CheckedBundle:
        """Fetches the bundle with the graphs in `names` that its kind has."""
        content = await self._blobs.get(address, at_most=MAX_MANIFEST)
        manifest = parse_manifest(content)
        files, native = manifest.files, {}
        for name in manifest.graphs:
            if name not in names:
                continue
            file = files.get(f"native/{name}.pb")
            if file is None:
                raise PeerError(
                    f"The bundle has no native graph {name}; the task's owner must convert it again."
                )
            native[name] = await self._blobs.get(file.sha256, at_most=file.bytes)
        return check_bundle(content, native)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await self._submit(work)

    def _submit(self, work: Callable[[], T]) -> asyncio.Future[T]:
        self._running += 1
        future = asyncio.get_running_loop().run_in_executor(self._thread, work)
        future.add_done_callback(self._done)
        return future

    def _done(self, _: object) -> None:
        self._running -= 1
