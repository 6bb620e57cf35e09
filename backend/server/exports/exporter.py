"""Exports versions in other formats on request, one at a time, and caches the files."""

from __future__ import annotations

import asyncio
import hashlib
import shutil
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from backend.errors import BundleError, BusyError, CancelledError, GoneError, MingaError
from backend.server.exports.export_formats import Format
from backend.server.exports.file_cache import CachedFile, FileCache
from backend.server.exports.weight_files import WRITERS, Layout
from backend.server.sandbox.conversion import ConversionLimits
from backend.server.sandbox.converter_process import converter_process
from backend.server.sandbox.limited_process import Supervision
from backend.server.sandbox.work_folder import check_result
from backend.server.tasks.task import TASK_FILE

# Changes with the converter's output, so that files of an older server are not reused.
REVISION = 2
KERAS = "keras"
MAX_JOBS = 8
# How long a failure is repeated to later requests without another attempt.
FAILED_SECONDS, MAX_FAILURES = 300.0, 128
LIMITS = ConversionLimits(wall_seconds=300.0, cpu_seconds=600)


@dataclass(frozen=True)
class ExportSource:
    """A version of a bundle: addresses of both, and files with its flat vector and the Keras model.

    `model` is None if the bundle has no Keras file. `about` is written into formats with free text.
    `training` is a task file with [model], by which a Keras file is compiled.
    """

    bundle: str
    weights: str
    layout: Layout
    values: Path
    model: Path | None
    about: Mapping[str, str]
    training: str = ""

    def key(self, format: Format) -> str:
        """Returns the cache key: everything on which the file depends."""
        compiled = hashlib.sha256(self.training.encode()).hexdigest() if format.name == KERAS else ""
        return f"{REVISION} {self.bundle} {self.weights} {format.name} {compiled}".strip()


class Exporter:
    """Owns the cache of exported files, and the one process that writes them. `stop` ends that process."""

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self._cache = FileCache(folder, max_bytes)
        self._one_at_a_time = asyncio.Semaphore(1)
        self._jobs: dict[str, asyncio.Task[CachedFile]] = {}
        self._failed: OrderedDict[str, tuple[float, MingaError]] = OrderedDict()
        self._stopped = Event()

    async def start(self) -> None:
        """Opens the cache folder. Raises StoreError."""
        await asyncio.to_thread(self._cache.open)

    async def stop(self) -> None:
        """Ends all jobs, and waits for them: cancelled tasks would leave their threads running."""
        self._stopped.set()
        await asyncio.gather(*self._jobs.values(), return_exceptions=True)

    def cached(self, source: ExportSource, format: Format) -> CachedFile | None:
        """Returns the file if it is in the cache."""
        return self._cache.find(source.key(format))

    async def get(self, source: ExportSource, format: Format, seconds: float) -> CachedFile | None:
        """Returns the file; None if it takes longer than `seconds`: the caller then asks again.

        Raises BundleError with the reason why the model cannot be exported in this format, BusyError,
        SettingsError if the converter is not installed, or StoreError.
        """
        key = source.key(format)
        file = await asyncio.to_thread(self._cache.find, key)
        if file is not None:
            return file
        self._raise_failed(key)
        if key not in self._jobs:
            self._begin(key, source, format)
        job = self._jobs[key]
        done, _ = await asyncio.wait({job}, timeout=seconds)
        return job.result() if done else None

    def _begin(self, key: str, source: ExportSource, format: Format) -> None:
        if len(self._jobs) >= MAX_JOBS:
            raise BusyError("Many files are being made for others. Try again in a minute.")
        job = asyncio.create_task(self._make(key, source, format))
        self._jobs[key] = job
        job.add_done_callback(lambda done: self._ended(key, done))

    def _ended(self, key: str, job: asyncio.Task[CachedFile]) -> None:
        self._jobs.pop(key, None)
        error = None if job.cancelled() else job.exception()
        if isinstance(error, BundleError):
            self._failed[key] = time.monotonic(), error
            while len(self._failed) > MAX_FAILURES:
                self._failed.popitem(last=False)

    def _raise_failed(self, key: str) -> None:
        at, error = self._failed.get(key, (0.0, None))
        if error is None:
            return
        if time.monotonic() - at < FAILED_SECONDS:
            raise error
        del self._failed[key]

    async def _make(self, key: str, source: ExportSource, format: Format) -> CachedFile:
        async with self._one_at_a_time:
            return await asyncio.to_thread(self._make_now, key, source, format)

    def _make_now(self, key: str, source: ExportSource, format: Format) -> CachedFile:
        if self._stopped.is_set():
            raise CancelledError("The server ends.")
        if not source.values.is_file():
            raise GoneError("This version was deleted to save space in the meantime; choose a newer one.")
        with self._cache.temporary_folder() as folder:
            file = folder / "file"
            if format.converted:
                self._convert(source, format, folder, file)
            else:
                WRITERS[format.name](source.values, source.layout, source.about, file)
            return self._cache.store(key, file)

    def _convert(self, source: ExportSource, format: Format, folder: Path, file: Path) -> None:
        if source.model is None:
            raise BundleError("This task's bundle has no Keras model. Take npz or safetensors instead.")
        converter = converter_process(LIMITS, Supervision(cancelled=self._stopped.is_set))
        # The converter recognises formats by their suffixes, which blobs do not have.
        model = folder / "model.keras"
        shutil.copyfile(source.model, model)
        arguments = [str(model), "--weights", str(source.values.resolve()), "--format", format.name]
        arguments += ["-o", str(file)]
        if format.name == KERAS and source.training:
            task = folder / TASK_FILE
            task.write_text(source.training, "utf-8")
            arguments += ["--task", str(task)]
        remedy = "take npz or safetensors instead"
        converter.run("Making the file", remedy, "converter.export", arguments, folder)
        check_result(file, LIMITS.file_bytes)
