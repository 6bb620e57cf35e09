"""Measures what checkpoints of a work unit cost a peer, and the steps that they save when it is killed.

Usage: python -m benchmarks.units.checkpoints [--parameters N ...] [--steps N] [--every S] [--kills N]
[--json]

A dense model is trained in this process by plain SGD, with and without checkpoints on the disk. A kill ends a
training at a drawn step without notice; the next one continues from the file, or begins again.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from backend.peer.data.shards import zero_examples
from backend.peer.training.graphs import import_graphs, open_bundle
from backend.peer.training.trainer import Trainer, TrainingPlan
from backend.peer.training.training_state import StateSaver, TrainingState
from backend.peer.units.checkpoint_folder import CheckpointFile, CheckpointFolder
from backend.peer.units.options import CHECKPOINT_SECONDS
from backend.peer.units.unit_checkpoint import UnitOwner
from backend.wire.messages import Shard
from backend.wire.unit_messages import Unit
from benchmarks.support.dense_task import write_units

ADDRESS = "ws://127.0.0.1/api/tasks/dense/socket"
OWNER = UnitOwner(ADDRESS, "a" * 16, "b" * 64, "tensorflow-cpu", None)
SAVES = 9
ROWS = 64


@dataclass(frozen=True)
class SaveCost:
    """One checkpoint of an optimizer with so many `slots`: its size, and seconds of the clock and processor.

    `share` is the part of the processor time of one core at the default interval.
    """

    slots: int
    bytes: int
    seconds: float
    cpu_seconds: float
    share: float


@dataclass(frozen=True)
class CheckpointCost:
    """The figures of one model: a training of `steps`, and the same one with `kills`.

    `wasted` are steps that were taken and lost, with and without checkpoints.
    """

    parameters: int
    steps: int
    step_seconds: float
    cpu_without: float
    cpu_with: float
    written: int
    saves: list[SaveCost]
    kills: int
    wasted: int
    wasted_without: int


class Bench:
    """One model, one unit, and the file of its checkpoints."""

    def __init__(self, parameters: int, steps: int, every: float, folder: Path) -> None:
        task = write_units(folder, parameters, 1, 1)
        graphs = import_graphs(open_bundle(task / "bundle", ["train", "apply"]), "cpu")
        self._trainer = Trainer(graphs)
        self._examples = zero_examples(graphs.manifest, ROWS)
        self._weights = np.fromfile(task / "bundle" / "weights.bin", "<f4")
        self._plan = TrainingPlan(epochs=0, steps=steps, learning_rate=0.1, seed=7)
        self._every, self._steps = every, steps
        self._folder = CheckpointFolder(folder / "units", ADDRESS)
        self.parameters = parameters
        self.written = 0

    @contextmanager
    def file(self) -> Iterator[CheckpointFile]:
        """Yields the file of the unit's checkpoints; there is none before."""
        file = self._folder.file(OWNER, _unit(self._steps))
        assert file is not None
        yield file
        file.delete()

    def life(self, file: CheckpointFile | None, most: int | None = None) -> tuple[int, int]:
        """Trains until the end, or for `most` steps; returns the steps at its begin and at its end."""
        saver = StateSaver(self._every, self._counted(file), file.read()) if file else None
        begun = saver.start.steps if saver and saver.start else 0
        until = self._steps if most is None else begun + most
        result = self._trainer.train(
            self._weights,
            self._plan,
            self._examples,
            lambda done, _: done >= until,
            lambda _: None,
            saver,
        )
        return begun, result.steps

    def _counted(self, file: CheckpointFile) -> Callable[[TrainingState], None]:
        def write(state: TrainingState) -> None:
            self.written += 1
            file.write(state)

        return write

    def cpu(self, file: CheckpointFile | None) -> tuple[float, float]:
        """Returns processor seconds and seconds of an uninterrupted training."""
        cpu, begun = time.process_time(), time.perf_counter()
        self.life(file)
        return time.process_time() - cpu, time.perf_counter() - begun

    def wasted(self, file: CheckpointFile | None, deaths: list[float]) -> int:
        """Returns the steps lost by kills, each after a drawn share of the unit's steps."""
        taken = 0
        for share in deaths:
            begun, ended = self.life(file, int(share * self._steps))
            taken += ended - begun
            if ended == self._steps:
                return taken - self._steps
        begun, ended = self.life(file)
        return taken + ended - begun - self._steps

    def save(self, file: CheckpointFile, slots: int) -> SaveCost:
        """Writes checkpoints of an optimizer with so many slots."""
        values = np.zeros(slots * self.parameters, np.float32)
        state = TrainingState(1, self._weights, values, np.zeros(4))
        clock, cpu = [], []
        for _ in range(SAVES):
            before = time.perf_counter(), time.process_time()
            file.write(state)
            clock.append(time.perf_counter() - before[0])
            cpu.append(time.process_time() - before[1])
        size, seconds = file.path.stat().st_size, statistics.median(cpu)
        return SaveCost(slots, size, statistics.median(clock), seconds, seconds / CHECKPOINT_SECONDS)


def _unit(steps: int) -> Unit:
    return Unit(
        lease=0,
        unit=0,
        epoch=1,
        shard=Shard(sha256="0" * 64, examples=ROWS),
        first=0,
        examples=ROWS,
        base=0,
        weights="1" * 64,
        epochs=0,
        steps=steps,
        batch_size=2,
        learning_rate=0.1,
        past_steps=0,
        seed=7,
        proximal_mu=0.0,
        start="given",
        elasticity=0.0,
        seconds=0.0,
        heartbeat=0.0,
    )


def measure(parameters: int, steps: int, every: float, kills: int) -> CheckpointCost:
    """Measures one model."""
    deaths = np.random.default_rng(1).random(kills).tolist()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(parameters, steps, every, Path(folder))
        bench.life(None, 10)
        cpu_without, seconds = bench.cpu(None)
        with bench.file() as file:
            cpu_with, _ = bench.cpu(file)
        written = bench.written
        with bench.file() as file:
            saves = [bench.save(file, slots) for slots in (0, 2)]
        with bench.file() as file:
            wasted = bench.wasted(file, deaths)
        wasted_without = bench.wasted(None, deaths)
    return CheckpointCost(
        parameters,
        steps,
        seconds / steps,
        cpu_without,
        cpu_with,
        written,
        saves,
        kills,
        wasted,
        wasted_without,
    )


def main() -> None:
    """Prints a report on each model."""
    parser = argparse.ArgumentParser(description="The cost and the use of checkpoints of work units.")
    parser.add_argument("--parameters", type=int, nargs="*", default=[500_010, 5_000_010])
    parser.add_argument("--steps", type=int, default=500, help="of the unit; default 500")
    parser.add_argument("--every", type=float, default=1.0, help="seconds between checkpoints; default 1")
    parser.add_argument("--kills", type=int, default=5, help="of the unit; default 5")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args()
    reports = [measure(count, args.steps, args.every, args.kills) for count in args.parameters]
    if args.json:
        print(json.dumps({"every": args.every, "models": [asdict(report) for report in reports]}))
        return
    for report in reports:
        print(
            f"{report.parameters:,} parameters, a unit of {report.steps} steps of "
            f"{1000 * report.step_seconds:.1f} ms: {report.cpu_without:.1f} s of processor time, with "
            f"{report.written} checkpoints {report.cpu_with:.1f} s"
        )
        for save in report.saves:
            print(
                f"  {save.slots} slots: {save.bytes / 1e6:.1f} MB, {1000 * save.seconds:.0f} ms, "
                f"{1000 * save.cpu_seconds:.0f} ms of processor time; every "
                f"{CHECKPOINT_SECONDS:.0f} s that is {save.share:.2%}"
            )
        print(
            f"  {report.kills} kills: {report.wasted} steps lost with checkpoints, "
            f"{report.wasted_without} without"
        )


if __name__ == "__main__":
    main()
