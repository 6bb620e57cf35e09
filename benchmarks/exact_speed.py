"""Measures the seconds of a training step by the exact worker, by relaxed kernels and by TensorFlow.

Usage: python -m benchmarks.exact_speed [--models NAME...] [--turns N] [--seconds S] [--quick] [--json]

Each trains a model's shard by the same plan from the same weights, on one core and in turns: a headless
peer's worker in Node.js with the plain kernels of the class `exact`, the same worker with the relaxed
instructions that other tasks take, and TensorFlow with one thread. A turn lasts about `--seconds` for the
exact worker; all of them make as many steps, after they have trained for four turns that are not counted.
A step's time is that of the whole training by the number of its steps, as a peer waits for it. Ratios are of
CPU seconds over all turns, which other load on the machine changes least.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import psutil

from backend.peer.exact.exact_engine import ORIGIN
from backend.peer.exact.node_runtime import find_node
from backend.peer.exact.worker_process import WorkerProcess
from backend.peer.training.engine import ShardRows
from backend.peer.training.step import never
from backend.peer.training.tensorflow_engine import TensorFlowEngine
from benchmarks.support.exact_models import prepare
from benchmarks.support.native_step import use_one_core
from benchmarks.support.relaxed_node import relaxed_node
from tests.support.exact.work import Work

GALLERY = ("digits", "cifar10", "titanic", "shakespeare", "text-lstm")
MODELS = (*GALLERY, "mlp", "cnn", "resnet", "gpt")
USUAL = (*GALLERY, "gpt")
TURNS, SECONDS = 7, 1.0
QUICK_MODELS, QUICK_TURNS, QUICK_SECONDS = ("titanic",), 1, 0.1
# Turns that each of them trains before, uncounted, until its code is compiled.
WARM_UP = 4
MOST_STEPS = 500


class Side(Protocol):
    """One that trains."""

    async def train(self, steps: int) -> None: ...

    def cpu_seconds(self) -> float: ...

    async def close(self) -> None: ...


class NodeSide:
    """A headless peer's worker with the kernels of a backend."""

    def __init__(self, work: Work, worker: WorkerProcess, process: psutil.Process) -> None:
        self._work = work
        self._worker = worker
        self._process = process
        self._weights = work.weights.read_bytes()

    @classmethod
    async def start(cls, work: Work, backend: str, node: Path) -> NodeSide:
        """Starts a process of `node` and loads the bundle."""
        before = set(psutil.Process().children())
        worker = WorkerProcess(work, node)
        await worker.start()
        (process,) = set(psutil.Process().children()) - before
        setup = {"backend": backend, "avoid": [], "sliced": False}
        await worker.ask({"type": "load", "origin": ORIGIN, "bundle": work.bundle, "setup": setup})
        return cls(work, worker, process)

    async def train(self, steps: int) -> None:
        message = {"type": "train", "weights": self._weights, "plan": self._work.page_plan(steps)}
        await self._worker.ask(message)

    def cpu_seconds(self) -> float:
        return _cpu_seconds(self._process)

    async def close(self) -> None:
        await self._worker.close()


class TensorFlowSide:
    """A headless peer's TensorFlow."""

    def __init__(self, work: Work, engine: TensorFlowEngine) -> None:
        self._work = work
        self._engine = engine
        self._weights = np.fromfile(work.weights, "<f4")

    @classmethod
    async def start(cls, work: Work) -> TensorFlowSide:
        """Loads the bundle in this process."""
        engine = TensorFlowEngine(work, "cpu")
        await engine.load(work.bundle)
        return cls(work, engine)

    async def train(self, steps: int) -> None:
        rows = ShardRows((self._work.shard,))
        await self._engine.train(self._weights, self._work.plan(steps), rows, never, lambda _: None)

    def cpu_seconds(self) -> float:
        return _cpu_seconds(psutil.Process())

    async def close(self) -> None:
        await self._engine.close()


def _cpu_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


@dataclass(frozen=True)
class Taken:
    """Seconds of a step, as mean of a turn."""

    wall: float
    cpu: float


async def compare(work: Work, relaxed: Path | None, turns: int, seconds: float) -> dict[str, Any]:
    """Returns the steps of a turn, and what each side took in all of its turns."""
    async with AsyncExitStack() as stack:
        sides: dict[str, Side] = {"exact": await NodeSide.start(work, "exact", find_node())}
        if relaxed is not None:
            sides["relaxed"] = await NodeSide.start(work, "wasm", relaxed)
        sides["tensorflow"] = await TensorFlowSide.start(work)
        for side in sides.values():
            stack.push_async_callback(side.close)
        steps, *_ = [await _warm_up(side, seconds) for side in sides.values()]
        taken: dict[str, list[Taken]] = {name: [] for name in sides}
        for _ in range(turns):
            for name, side in sides.items():
                taken[name].append(await _turn(side, steps))
    return {"steps": steps, "taken": taken}


async def _warm_up(side: Side, seconds: float) -> int:
    """Trains until code is compiled; returns how many steps take about `seconds`."""
    begun, step = time.perf_counter(), 0.0
    while time.perf_counter() - begun < WARM_UP * seconds:
        step = (await _turn(side, 5)).wall
    return min(max(round(seconds / step), 2), MOST_STEPS)


async def _turn(side: Side, steps: int) -> Taken:
    begun, before = time.perf_counter(), side.cpu_seconds()
    await side.train(steps)
    return Taken((time.perf_counter() - begun) / steps, (side.cpu_seconds() - before) / steps)


def row_of(model: str, steps: int, taken: Mapping[str, Sequence[Taken]]) -> dict[str, Any]:
    """Returns a model's row; what there is no Node.js for is None."""
    row: dict[str, Any] = {"model": model, "steps": steps}
    for name in ("exact", "relaxed", "tensorflow"):
        turns = taken.get(name)
        row[f"{name}_best_s"] = round(min(turn.wall for turn in turns), 6) if turns else None
        row[f"{name}_median_s"] = round(statistics.median(turn.wall for turn in turns), 6) if turns else None
        row[f"{name}_cpu_s"] = round(statistics.mean(turn.cpu for turn in turns), 6) if turns else None
    for other in ("relaxed", "tensorflow"):
        theirs = row[f"{other}_cpu_s"]
        row[f"exact_to_{other}"] = round(row["exact_cpu_s"] / theirs, 3) if theirs else None
    return row


def measure(models: Sequence[str], turns: int, seconds: float) -> list[dict[str, Any]]:
    """Returns a row for each model."""
    with tempfile.TemporaryDirectory(prefix="minga-exact-speed-") as temporary:
        works = {model: prepare(Path(temporary) / model, model) for model in models}
        relaxed = relaxed_node(Path(temporary))
        # Conversions are over by now; whatever trains from here on shares one core.
        use_one_core()
        rows = []
        for model, work in works.items():
            compared = asyncio.run(compare(work, relaxed, turns, seconds))
            rows.append(row_of(model, **compared))
            print(f"{model}: {rows[-1]['exact_best_s']} s", file=sys.stderr, flush=True)
        return rows


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    def milliseconds(row: Mapping[str, Any], name: str) -> str:
        values = [row[f"{name}_{kind}_s"] for kind in ("cpu", "best", "median")]
        return " / ".join("-" if value is None else f"{1000 * value:.2f}" for value in values)

    def ratio(value: float | None) -> str:
        return "-" if value is None else f"{value:.2f}"

    cells = [
        (
            row["model"],
            str(row["steps"]),
            *(milliseconds(row, name) for name in ("exact", "relaxed", "tensorflow")),
            ratio(row["exact_to_relaxed"]),
            ratio(row["exact_to_tensorflow"]),
        )
        for row in rows
    ]
    header = ("model", "steps", "exact", "relaxed", "TensorFlow", "/relaxed", "/TensorFlow")
    widths = (12, 5, 24, 24, 24, 8, 11)
    lines = [" ".join(f"{c:>{w}}" for c, w in zip(row, widths, strict=True)) for row in (header, *cells)]
    return "\n".join([*lines, "Milliseconds of a step: CPU time / best turn / median of the turns."])


def main() -> None:
    parser = argparse.ArgumentParser(description="What a step of the class `exact` takes beside others.")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=None)
    parser.add_argument("--turns", type=int, default=None, help=f"default {TURNS}")
    parser.add_argument("--seconds", type=float, default=None, help=f"of a turn, default {SECONDS}")
    parser.add_argument("--quick", action="store_true", help="one model, one short turn")
    parser.add_argument("--json", action="store_true", help="print rows as JSON")
    args = parser.parse_args()
    models = args.models or (QUICK_MODELS if args.quick else USUAL)
    turns = args.turns or (QUICK_TURNS if args.quick else TURNS)
    seconds = args.seconds or (QUICK_SECONDS if args.quick else SECONDS)
    rows = measure(models, turns, seconds)
    print(json.dumps({"rows": rows}, indent=1) if args.json else _table(rows))


if __name__ == "__main__":
    main()
