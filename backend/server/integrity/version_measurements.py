"""Measures versions for signs of a backdoor, one at a time, and keeps the figures."""

from __future__ import annotations

import asyncio
import shutil
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from backend.errors import BundleError, CancelledError, NotFoundError
from backend.formats.manifest import KERAS_FILE, Manifest
from backend.server.sandbox.graph_arrays import read_examples
from backend.server.sandbox.integrity import IntegrityMeasurement, measure_integrity
from backend.server.sandbox.limited_process import Supervision
from backend.server.tasks.task import Task
from backend.stores.contracts import BlobStore

MAX_EXAMPLES = 2000
# Measurements that are kept.
MAX_KEPT = 256

# The addresses of a bundle and of a version's weights.
Key = tuple[str, str]


@dataclass(frozen=True)
class IntegritySource:
    """A version to measure: files of the model and its flat vector, and of the shards with the examples."""

    manifest: Manifest
    model: Path
    weights: Path
    shards: tuple[Path, ...]


class VersionMeasurements:
    """Owns the measurements and the one process that makes them. `stop` ends that process.

    A version is measured on the server's held-out shards or, without them, on training shards. `folder` is
    for temporary files.
    """

    def __init__(self, blobs: BlobStore, folder: Path) -> None:
        self._blobs, self._folder = blobs, folder
        self._one_at_a_time = asyncio.Semaphore(1)
        self._jobs: OrderedDict[Key, asyncio.Task[IntegrityMeasurement]] = OrderedDict()
        self._stopped = Event()

    async def start(self) -> None:
        """Removes what a killed server left behind."""
        await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)

    async def stop(self) -> None:
        """Ends all measurements, and waits for them: cancelled tasks would leave their threads running."""
        self._stopped.set()
        await asyncio.gather(*self._jobs.values(), return_exceptions=True)

    @property
    def running(self) -> int:
        """The number of measurements that run or wait."""
        return sum(not job.done() for job in self._jobs.values())

    def has(self, task: Task, address: str) -> bool:
        """Whether the version with the weights at `address` is measured, or is being measured."""
        return (task.bundle.address, address) in self._jobs

    async def begin(self, task: Task, address: str) -> asyncio.Task[IntegrityMeasurement]:
        """Begins the measurement of the version with the weights at `address`, unless it is kept.

        The job raises as `measure_integrity`; one that failed is returned once more, then tried again. Raises
        NotFoundError, also for a task without examples on the server, or BundleError.
        """
        key = task.bundle.address, address
        job = self._jobs.get(key)
        if job is None:
            source = await self._source(task, address)
            if (job := self._jobs.get(key)) is None:  # Another request may have begun it meanwhile.
                job = self._jobs[key] = asyncio.create_task(self._measure(source))
            self._forget_oldest()
        elif job.done() and (job.cancelled() or job.exception() is not None):
            del self._jobs[key]
            return job
        self._jobs.move_to_end(key)
        return job

    def _forget_oldest(self) -> None:
        done = [key for key, job in self._jobs.items() if job.done()]
        for key in done[: max(0, len(self._jobs) - MAX_KEPT)]:
            del self._jobs[key]

    async def _source(self, task: Task, address: str) -> IntegritySource:
        file = task.bundle.manifest.files.get(KERAS_FILE)
        if file is None:
            raise BundleError("This task's bundle has no Keras model, so its versions cannot be measured.")
        shards = list(task.shards.holdout)
        if not shards:
            shards = [await self._blobs.path(shard.sha256) for shard in task.shards.fetched]
        if not shards:
            raise NotFoundError(
                f"The server has no examples of {task.file.name}. Download the version, and measure the file "
                "with examples of your own: minga task integrity FILE.keras --data EXAMPLES.npz."
            )
        model, weights = await self._blobs.path(file.sha256), await self._blobs.path(address)
        return IntegritySource(task.bundle.manifest, model, weights, tuple(shards))

    async def _measure(self, source: IntegritySource) -> IntegrityMeasurement:
        async with self._one_at_a_time:
            return await asyncio.to_thread(self._measure_now, source)

    def _measure_now(self, source: IntegritySource) -> IntegrityMeasurement:
        if self._stopped.is_set():
            raise CancelledError("The server ends.")
        try:
            examples = read_examples(source.manifest, source.shards, MAX_EXAMPLES)
        except OSError as error:
            raise BundleError(f"The examples cannot be read: {error.strerror}.") from error
        self._folder.mkdir(parents=True, exist_ok=True)
        supervision = Supervision(cancelled=self._stopped.is_set)
        return measure_integrity(source.model, examples, self._folder, source.weights, supervision)
