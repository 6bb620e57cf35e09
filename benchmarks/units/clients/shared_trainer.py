"""Trains for all light clients of a process with one TensorFlow, one unit at a time."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from backend.formats.manifest import Manifest, SignatureName, parse_manifest
from backend.numerics.vectors import Vector
from backend.peer.data.blob_cache import BlobCache
from backend.peer.data.shards import Examples, read_shard
from backend.peer.session.retry import JOB, retry
from backend.peer.training.graphs import check_bundle, import_graphs
from backend.peer.training.step import Halt
from backend.peer.training.trainer import Trainer, TrainingPlan
from backend.wire.unit_messages import Unit

# Sizes of the caches: weights that many clients start from, and true results that cheats may copy.
MAX_WEIGHTS, MAX_RESULTS = 32, 64
DOWNLOAD_SECONDS = 10.0
SIGNATURES: tuple[SignatureName, ...] = ("train", "apply")


@dataclass(frozen=True, eq=False)
class Done:
    """The result of `unit`: the change of its weights [P] over so many examples and steps."""

    unit: int
    update: Vector
    examples: int
    steps: int
    loss: float
    sums: list[tuple[float, float]]


class SharedTrainer:
    """Loads a task's bundle from its server, and trains its units by the real graphs on demand.

    Finished results can be copied by cheats.
    """

    def __init__(self, address: str, cache: Path) -> None:
        self._client = httpx.AsyncClient(timeout=600)
        self._blobs = BlobCache(self._client, f"http://{address}", cache)
        self._thread = ThreadPoolExecutor(1, "tensorflow")
        self._weights: OrderedDict[str, Vector] = OrderedDict()
        self._shards: dict[str, Examples] = {}
        self._manifest: Manifest
        self._trainer: Trainer
        self._finished: deque[Done] = deque(maxlen=MAX_RESULTS)
        self._more = asyncio.Condition()
        self.step_ms = 0.0

    async def open(self, bundle: str) -> None:
        """Downloads and loads the bundle at this address, and times a step."""
        content = await self._download(bundle)
        self._manifest = parse_manifest(content)
        files = {name: self._manifest.files[f"native/{name}.pb"].sha256 for name in SIGNATURES}
        native = {name: await self._download(sha256) for name, sha256 in files.items()}
        checked = check_bundle(content, native)
        self._trainer = await self._do(lambda: Trainer(import_graphs(checked, "cpu")))
        self.step_ms = await self._do(self._trainer.time_step)

    async def train(self, unit: Unit, max_steps: int = 0) -> Done:
        """Returns the true result of `unit`; stops early after `max_steps` (0: never)."""
        weights, examples = await self.weights(unit.weights), await self._rows(unit)
        plan = TrainingPlan(
            epochs=unit.epochs,
            learning_rate=unit.learning_rate,
            seed=unit.seed,
            steps=unit.steps,
            batch_size=unit.batch_size,
            past_steps=unit.past_steps,
            first_step=unit.first_step,
            proximal_mu=unit.proximal_mu,
        )
        halt = _after(max_steps)
        result = await self._do(lambda: self._trainer.train(weights, plan, examples, halt, lambda _: None))
        finished = Done(unit.unit, result.update, result.examples, result.steps, result.loss, result.sums)
        if not max_steps:
            async with self._more:
                self._finished.append(finished)
                self._more.notify_all()
        return finished

    async def copyable_result(self, unit: Unit) -> Done:
        """Waits for a true result of another unit of that size; each result is given out once."""
        trained_examples = unit.epochs * unit.examples

        def matching() -> Done | None:
            return next(
                (
                    finished
                    for finished in self._finished
                    if finished.unit != unit.unit and finished.examples == trained_examples
                ),
                None,
            )

        async with self._more:
            await self._more.wait_for(lambda: matching() is not None)
            copy = matching()
            assert copy is not None
            self._finished.remove(copy)
            return copy

    async def weights(self, address: str) -> Vector:
        """Returns weights [P] by their address; shared ones are downloaded once."""
        if address not in self._weights:
            self._weights[address] = np.frombuffer(await self._download(address), "<f4")
            while len(self._weights) > MAX_WEIGHTS:
                self._weights.popitem(last=False)
        return self._weights[address]

    async def close(self) -> None:
        """Closes it after its thread has finished."""
        await self._client.aclose()
        self._thread.shutdown()

    async def _rows(self, unit: Unit) -> Examples:
        address = unit.shard.sha256
        if address not in self._shards:
            content = await self._download(address)
            self._shards[address] = read_shard(content, self._manifest)
        return self._shards[address].picked(slice(unit.first, unit.first + unit.examples))

    async def _download(self, address: str) -> bytes:
        content = await retry(
            lambda: self._blobs.get(address), JOB, lambda *_: None, give_up_after=DOWNLOAD_SECONDS
        )
        assert content is not None
        return content

    def _do(self, work: Any) -> Any:
        return asyncio.get_running_loop().run_in_executor(self._thread, work)


def _after(max_steps: int) -> Halt:
    return lambda done, _seconds: bool(max_steps) and done >= max_steps
