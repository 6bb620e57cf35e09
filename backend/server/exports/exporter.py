"""Versions in other formats: made when somebody wants them, one at a time, and kept for the next."""

from __future__ import annotations

import asyncio
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
from backend.server.sandbox.conversion import ConversionLimits, converter_folder
from backend.server.sandbox.limited_process import ProcessWork, run_limited

# Changes with what the converter writes, so that files of an older server are made anew.
REVISION = 1
MOST_WAITING = 8
# How long a sentence about why a file could not be made is given again without trying.
FAILED_SECONDS, MOST_FAILED = 300.0, 128
LIMITS = ConversionLimits(wall_seconds=300.0, cpu_seconds=600)


@dataclass(frozen=True)
class ExportSource:
    """A version of a bundle: addresses of both, and files with its flat vector and the Keras model.

    `model` is None where the bundle has no Keras file. `about` goes into files that take free text.
    """

    bundle: str
    weights: str
    layout: Layout
    values: Path
    model: Path | None
    about: Mapping[str, str]

    def key(self, wanted: Format) -> str:
        """What one file depends on."""
        return f"{REVISION} {self.bundle} {self.weights} {wanted.name}"


class Exporter:
    """Owns the files that were made, and the one process that makes them. `stop` ends that."""

    def __init__(self, folder: Path, most_bytes: int) -> None:
        self._cellar = FileCache(folder, most_bytes)
        self._turn = asyncio.Semaphore(1)
        self._jobs: dict[str, asyncio.Task[CachedFile]] = {}
        self._failed: OrderedDict[str, tuple[float, MingaError]] = OrderedDict()
        self._stopped = Event()

    async def start(self) -> None:
        """Opens the folder. Raises StoreError."""
        await asyncio.to_thread(self._cellar.open)

    async def stop(self) -> None:
        """Ends everything that runs, and returns when it has ended: cancelled jobs would leave threads."""
        self._stopped.set()
        await asyncio.gather(*self._jobs.values(), return_exceptions=True)

    def made(self, source: ExportSource, wanted: Format) -> CachedFile | None:
        """The file, if it was made before."""
        return self._cellar.find(source.key(wanted))

    async def get(self, source: ExportSource, wanted: Format, seconds: float) -> CachedFile | None:
        """The file; None if it takes longer than so many seconds: ask again.

        Raises BundleError with the reason why this model cannot be had so, BusyError, SettingsError where the
        converter is not installed, or StoreError.
        """
        key = source.key(wanted)
        found = await asyncio.to_thread(self._cellar.find, key)
        if found is not None:
            return found
        self._raise_failed(key)
        if key not in self._jobs:
            self._begin(key, source, wanted)
        job = self._jobs[key]
        done, _ = await asyncio.wait({job}, timeout=seconds)
        return job.result() if done else None

    def _begin(self, key: str, source: ExportSource, wanted: Format) -> None:
        if len(self._jobs) >= MOST_WAITING:
            raise BusyError("Many files are being made for others. Try again in a minute.")
        job = asyncio.create_task(self._make(key, source, wanted))
        self._jobs[key] = job
        job.add_done_callback(lambda done: self._ended(key, done))

    def _ended(self, key: str, job: asyncio.Task[CachedFile]) -> None:
        self._jobs.pop(key, None)
        error = None if job.cancelled() else job.exception()
        if isinstance(error, BundleError):
            self._failed[key] = time.monotonic(), error
            while len(self._failed) > MOST_FAILED:
                self._failed.popitem(last=False)

    def _raise_failed(self, key: str) -> None:
        at, error = self._failed.get(key, (0.0, None))
        if error is None:
            return
        if time.monotonic() - at < FAILED_SECONDS:
            raise error
        del self._failed[key]

    async def _make(self, key: str, source: ExportSource, wanted: Format) -> CachedFile:
        async with self._turn:
            return await asyncio.to_thread(self._make_now, key, source, wanted)

    def _make_now(self, key: str, source: ExportSource, wanted: Format) -> CachedFile:
        if self._stopped.is_set():
            raise CancelledError("The server ends.")
        if not source.values.is_file():
            raise GoneError("This version was let go to save space while it waited; take a newer one.")
        with self._cellar.aside() as folder:
            file = folder / "file"
            if wanted.converted:
                self._convert(source, wanted, folder, file)
            else:
                WRITERS[wanted.name](source.values, source.layout, source.about, file)
            return self._cellar.take(key, file)

    def _convert(self, source: ExportSource, wanted: Format, folder: Path, file: Path) -> None:
        if source.model is None:
            raise BundleError("This task's bundle has no Keras model. Take npz or safetensors instead.")
        root = converter_folder().parent
        # Blobs have no endings, by which the converter tells formats apart.
        model = folder / "model.keras"
        shutil.copyfile(source.model, model)
        arguments = [str(model), "--weights", str(source.values), "--format", wanted.name]
        arguments += ["-o", str(file), *LIMITS.flags()]
        remedy = "take npz or safetensors instead"
        work = ProcessWork("Making the file", remedy, "converter.export", arguments, folder, root)
        run_limited(work, LIMITS, cancelled=self._stopped.is_set)
