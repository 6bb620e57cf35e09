"""Measures versions for signs of a backdoor on request, one at a time, and keeps the figures."""

from __future__ import annotations

import asyncio
import shutil
from collections import OrderedDict
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Event
from typing import Any

from backend.errors import BundleError, BusyError, CancelledError, NotFoundError
from backend.formats.manifest import Manifest
from backend.server.exports.task_exports import KERAS_FILE, TaskExports
from backend.server.hosting.task_registry import TaskRegistry
from backend.server.sandbox.graph_arrays import read_examples
from backend.server.sandbox.integrity import IntegrityMeasurement, measure_integrity, score_integrity
from backend.server.sandbox.limited_process import Supervision
from backend.server.tasks.task import Task
from backend.stores.contracts import BlobStore

MAX_EXAMPLES = 2000
# Measurements that are running or wait, and those that are kept.
MAX_JOBS, MAX_KEPT = 8, 256

# The addresses of a bundle and of a version's weights.
Key = tuple[str, str]


@dataclass(frozen=True)
class IntegritySource:
    """A version to measure: files of the model and its flat vector, and of the shards with the examples."""

    manifest: Manifest
    model: Path
    weights: Path
    shards: tuple[Path, ...]


class IntegrityChecks:
    """Owns the measurements and the one process that makes them. `stop` ends that process.

    A version is measured on the server's held-out shards or, without them, on training shards. `folder` is
    for temporary files.
    """

    def __init__(self, registry: TaskRegistry, blobs: BlobStore, results: TaskExports, folder: Path) -> None:
        self._registry, self._blobs, self._results, self._folder = registry, blobs, results, folder
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

    async def score(
        self, task: str, number: int, against: int | None, seconds: float
    ) -> dict[str, Any] | None:
        """Scores version `number` (docs/reference/http.md); None if that takes longer than `seconds`.

        Raises NotFoundError, also for a task without examples on the server, GoneError, BundleError with the
        reason why it cannot be scored, BusyError, or SettingsError without TensorFlow.
        """
        numbers = [number] if against is None else [number, against]
        jobs = [await self._job(task, one) for one in numbers]
        await asyncio.wait({job for _, job in jobs}, timeout=seconds)
        measured = []
        for key, job in jobs:
            if not job.done():
                return None
            if job.cancelled() or job.exception() is not None:
                # A later request tries again.
                self._jobs.pop(key, None)
            measured.append(job.result())
        score = score_integrity(measured[0], measured[1] if len(measured) > 1 else None)
        examples = int(measured[0].counts.sum())
        return {"version": number, "against": against, "examples": examples, **asdict(score)}

    async def _job(self, task: str, number: int) -> tuple[Key, asyncio.Task[IntegrityMeasurement]]:
        hosted = self._registry.host(task).task
        weights = await self._results.weights(task, number)
        key = hosted.bundle.address, weights.name
        if key not in self._jobs:
            if sum(not job.done() for job in self._jobs.values()) >= MAX_JOBS:
                raise BusyError("Many versions are being measured for others. Try again in a minute.")
            source = await self._source(hosted, weights)
            self._jobs[key] = asyncio.create_task(self._measure(source))
            self._forget_oldest()
        self._jobs.move_to_end(key)
        return key, self._jobs[key]

    def _forget_oldest(self) -> None:
        done = [key for key, job in self._jobs.items() if job.done()]
        for key in done[: max(0, len(self._jobs) - MAX_KEPT)]:
            del self._jobs[key]

    async def _source(self, task: Task, weights: Path) -> IntegritySource:
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
        model = await self._blobs.path(file.sha256)
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
