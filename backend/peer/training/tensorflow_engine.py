"""Computes in TensorFlow, in separate threads, so that the socket never waits for a step."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from backend.errors import PeerError
from backend.formats.manifest import Manifest, SignatureName, parse_manifest
from backend.peer.data.blob_cache import BlobSource
from backend.peer.data.shards import Examples, join_shards, read_shard
from backend.peer.training.engine import PlanData, ShardRows
from backend.peer.training.graphs import CheckedBundle, Device, check_bundle, import_graphs
from backend.peer.training.measurer import VersionMeasurer
from backend.peer.training.step import Halt, Totals, Vector
from backend.peer.training.trainer import Trainer, TrainingPlan, TrainingProgress, TrainingResult
from backend.peer.training.training_state import StateSaver

T = TypeVar("T")

MAX_MANIFEST = 16 << 20


@dataclass
class _Loaded:
    address: str
    manifest: Manifest
    trainer: Trainer
    measurer: VersionMeasurer | None = None


class TensorFlowEngine:
    """A TrainingEngine (engine.py) that runs up to `at_once` computations concurrently."""

    def __init__(self, blobs: BlobSource, device: Device, at_once: int = 1) -> None:
        self._blobs = blobs
        self._device = device
        self._thread = ThreadPoolExecutor(max_workers=at_once, thread_name_prefix="tensorflow")
        self._running = 0
        self._loaded: _Loaded | None = None

    @property
    def manifest(self) -> Manifest:
        return self._current().manifest

    @property
    def program(self) -> None:
        return None

    @property
    def busy(self) -> bool:
        return self._running > 0

    async def load(self, address: str) -> tuple[str, float]:
        bundle = await self._fetch_bundle(address, "train", "apply", "train_slice")
        trainer = await self._in_thread(lambda: Trainer(import_graphs(bundle, self._device)))
        step_ms = await self._in_thread(trainer.time_step)
        self._loaded = _Loaded(address, bundle.manifest, trainer)
        return trainer.backend, step_ms

    async def fetch(self, rows: ShardRows) -> Examples:
        manifest = self.manifest
        shards = [read_shard(await self._blobs.get(one.sha256), manifest) for one in rows.shards]
        examples = shards[0] if len(shards) == 1 else join_shards(shards)
        if rows.count is None:
            return examples
        rows.check(len(examples))
        return examples.picked(slice(rows.first, rows.first + rows.count))

    async def train(
        self,
        weights: Vector,
        plan: TrainingPlan,
        data: PlanData,
        halt: Halt,
        report: Callable[[TrainingProgress], None],
        saver: StateSaver | None = None,
    ) -> TrainingResult:
        trainer, examples = self._current().trainer, await self._in_memory(data)
        return await self._in_thread(lambda: trainer.train(weights, plan, examples, halt, report, saver))

    async def totals(self, weights: Vector, data: PlanData, halt: Halt) -> Totals:
        loaded, examples = self._current(), await self._in_memory(data)
        measurer = loaded.measurer = loaded.measurer or await self._load_measurer(loaded.address)
        return await self._in_thread(lambda: measurer.totals(weights, examples, halt))

    async def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _current(self) -> _Loaded:
        if self._loaded is None:
            raise PeerError("No bundle is loaded yet.")
        return self._loaded

    async def _in_memory(self, data: PlanData) -> Examples:
        return await self.fetch(data) if isinstance(data, ShardRows) else data

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
        self._running += 1
        future = asyncio.get_running_loop().run_in_executor(self._thread, work)
        future.add_done_callback(self._done)
        return await future

    def _done(self, _: object) -> None:
        self._running -= 1
