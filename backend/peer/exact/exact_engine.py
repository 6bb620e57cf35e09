"""Computes by the browsers' training worker, with the same bits as every browser of the class `exact`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np

from backend.errors import PeerError
from backend.formats.manifest import Manifest, parse_manifest
from backend.peer.data.blob_cache import BlobSource
from backend.peer.exact.node_runtime import find_exact_program
from backend.peer.exact.worker_process import Message, WorkerProcess
from backend.peer.training.engine import PlanData, ShardRows
from backend.peer.training.step import Halt, Totals, Vector, totals_size
from backend.peer.training.trainer import TrainingPlan, TrainingProgress, TrainingResult
from backend.peer.training.training_state import StateSaver, TrainingState

EXACT_BACKEND = "exact"
MAX_MANIFEST = 16 << 20
# The worker's blobs come through its pipe (webapp/static/src/workers/headless/worker-scope.ts).
ORIGIN = "minga:"
# Seconds between two looks at whether a measurement shall end.
_LOOK_EVERY = 0.02


class ExactEngine:
    """A TrainingEngine (engine.py) of `at_once` workers, each a process with one thread.

    `node` is the Node.js to take; None takes that of this machine.
    """

    def __init__(self, blobs: BlobSource, at_once: int = 1, node: Path | None = None) -> None:
        self._blobs = blobs
        self._node = node
        self._at_once = at_once
        self._free: asyncio.Queue[WorkerProcess | None] = asyncio.Queue()
        self._all: set[WorkerProcess] = set()
        self._running = 0
        self._address: str | None = None
        self._manifest: Manifest | None = None
        self._program: str | None = None

    @property
    def manifest(self) -> Manifest:
        if self._manifest is None:
            raise PeerError("No bundle is loaded yet.")
        return self._manifest

    @property
    def program(self) -> str | None:
        return self._program

    @property
    def busy(self) -> bool:
        return self._running > 0

    async def load(self, address: str) -> tuple[str, float]:
        await self._end_workers()
        self._program = find_exact_program()
        self._manifest = parse_manifest(await self._blobs.get(address, at_most=MAX_MANIFEST))
        self._address = address
        first, step_ms = await self._started()
        self._free.put_nowait(first)
        for _ in range(self._at_once - 1):
            self._free.put_nowait(None)
        return EXACT_BACKEND, step_ms

    async def fetch(self, rows: ShardRows) -> ShardRows:
        """Fetches shards into the cache; a worker reads them from there."""
        for shard in rows.shards:
            await self._blobs.get(shard.sha256)
        rows.check(sum(shard.examples for shard in rows.shards))
        return rows

    async def train(
        self,
        weights: Vector,
        plan: TrainingPlan,
        data: PlanData,
        halt: Halt,
        report: Callable[[TrainingProgress], None],
        saver: StateSaver | None = None,
    ) -> TrainingResult:
        message = {
            "type": "train",
            "weights": _bytes(weights),
            "plan": _plan(plan, _rows(data), self.manifest),
            **_saving(saver),
        }
        if halt(0, 0.0):
            return TrainingResult(np.zeros_like(weights), None, 0, 0, 0, 0.0, [], 0.0, weights)
        async with self._worker() as worker:
            stopping: list[asyncio.Task[None]] = []

            def progress(stepped: Message) -> None:
                report(TrainingProgress(stepped["step"], stepped["steps"], stepped["loss"]))
                if not stopping and halt(stepped["step"], stepped["stepMs"] / 1000):
                    stopping.append(asyncio.create_task(worker.stop()))

            save = None if saver is None else lambda told: saver.write(_state(told))
            return _result(await worker.ask(message, progress, save))

    async def totals(self, weights: Vector, data: PlanData, halt: Halt) -> Totals:
        shards = [shard.sha256 for shard in _rows(data).shards]
        message = {
            "type": "measure",
            "weights": _bytes(weights),
            "plan": {"shards": shards, "until": None},
        }
        totals = np.zeros(totals_size(self.manifest.metrics), np.float64)
        if halt(0, 0.0):
            return totals
        async with self._worker() as worker:
            answer = await _measured(worker, message, halt)
        if count := answer["examples"]:
            pairs = [value for pair in answer["sums"] for value in pair]
            totals[:] = [count, answer["loss"] * count, *pairs]
        return totals

    async def close(self) -> None:
        await self._end_workers()

    async def _end_workers(self) -> None:
        for worker in self._all:
            await worker.close()
        self._all.clear()
        self._free = asyncio.Queue()

    @asynccontextmanager
    async def _worker(self) -> AsyncIterator[WorkerProcess]:
        """Lends a free worker, a new one in place of one that has ended."""
        worker, free = await self._free.get(), self._free
        self._running += 1
        try:
            if worker is not None and worker.ended:
                self._all.discard(worker)
                await worker.close()
                worker = None
            if worker is None:
                worker, _ = await self._started()
            yield worker
        finally:
            self._running -= 1
            free.put_nowait(worker)

    async def _started(self) -> tuple[WorkerProcess, float]:
        """Returns a worker that has loaded the bundle, and the milliseconds of its step."""
        worker = WorkerProcess(self._blobs, self._node)
        self._all.add(worker)
        await worker.start()
        # Slices add up in another order than whole batches.
        setup = {"backend": EXACT_BACKEND, "avoid": [], "sliced": False}
        loaded = await worker.ask({"type": "load", "origin": ORIGIN, "bundle": self._address, "setup": setup})
        return worker, float(loaded["stepMs"])


async def _measured(worker: WorkerProcess, message: Message, halt: Halt) -> Message:
    """Returns the answer to a measurement. It reports no progress, so that `halt` is asked at intervals."""
    answer = asyncio.create_task(worker.ask(message))
    try:
        while not answer.done():
            await asyncio.wait({answer}, timeout=_LOOK_EVERY)
            if halt(0, 0.0) and not answer.done():
                await worker.stop()
                break
        return await answer
    finally:
        answer.cancel()


def _rows(data: PlanData) -> ShardRows:
    if isinstance(data, ShardRows):
        return data
    raise PeerError("An exact peer trains only on a task's shards, not on its own files; leave --exact out.")


def _plan(plan: TrainingPlan, rows: ShardRows, manifest: Manifest) -> Mapping[str, Any]:
    """Returns a plan in the worker's words (webapp/static/src/core/messages/training.ts)."""
    if plan.control is not None:
        raise PeerError("An exact peer has no control variates, which this task wants; leave --exact out.")
    unit = None
    if rows.count is not None:
        unit = {
            "lease": 0,
            "rows": {"first": rows.first, "count": rows.count},
            "start": None,
            "checkpoints": True,
        }
    privacy = plan.privacy and {
        "clip": plan.privacy.clip,
        "noise": plan.privacy.noise,
        "microbatch": plan.privacy.microbatch,
    }
    return {
        "seed": plan.seed,
        "epochs": plan.epochs,
        "steps": plan.steps,
        "batchSize": plan.batch_size or manifest.batch_size,
        "learningRate": plan.learning_rate,
        "pastSteps": plan.past_steps,
        "firstStep": plan.first_step,
        "proximalMu": plan.proximal_mu,
        "control": None,
        "privacy": privacy,
        "protection": None,
        "until": _milliseconds_left(plan),
        "shards": [shard.sha256 for shard in rows.shards],
        "unit": unit,
    }


def _saving(saver: StateSaver | None) -> Message:
    """Returns how a training saves its state, in the worker's words."""
    if saver is None:
        return {}
    state = saver.start and {
        "steps": saver.start.steps,
        "weights": _bytes(saver.start.weights),
        "slots": _bytes(saver.start.slots),
        "totals": saver.start.totals.astype("<f8", copy=False).tobytes(),
        "hashes": list(saver.start.hashes),
    }
    return {"saving": {"every": 1000 * saver.interval, "state": state, "place": None}}


def _state(told: Message) -> TrainingState:
    return TrainingState(
        steps=told["steps"],
        weights=np.frombuffer(told["weights"], "<f4"),
        slots=np.frombuffer(told["slots"], "<f4"),
        totals=np.frombuffer(told["totals"], "<f8"),
        hashes=tuple(told["hashes"]),
    )


def _milliseconds_left(plan: TrainingPlan) -> float | None:
    """Returns the time until the plan's end, as a headless worker is given it."""
    return None if plan.ends is None else 1000 * (plan.ends - time.monotonic())


def _result(answer: Message) -> TrainingResult:
    local = answer["local"]
    return TrainingResult(
        update=np.frombuffer(answer["update"], "<f4"),
        change=None,
        examples=answer["examples"],
        steps=answer["steps"],
        planned=answer["planned"],
        loss=answer["loss"],
        sums=[(above, below) for above, below in answer["sums"]],
        step_ms=answer["stepMs"],
        end=None if local is None else np.frombuffer(local, "<f4"),
        checkpoints=answer["checkpoints"],
    )


def _bytes(weights: Vector) -> bytes:
    return weights.astype("<f4", copy=False).tobytes()
