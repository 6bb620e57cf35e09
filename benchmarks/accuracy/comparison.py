"""One seed of benchmarks.accuracy.federated: the same model and data, trained by Keras alone and by real
peers."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import keras
import numpy as np

from backend.formats.task_file import TaskFile, read_task_file
from benchmarks.accuracy.report import CENTRAL, Compared, Point, Run
from benchmarks.support.keras_baseline import Examined, Measured, Yardstick, read_examples
from benchmarks.support.training_run import minga, train
from benchmarks.tasks import Sources, Task, load_task, task_file

CLIENTS = 4
ALPHA = 0.3

# After so many samples, measured so.
Measures = Iterator[tuple[int, Measured]]


@dataclass(frozen=True)
class Setting:
    """What is compared; `rounds` and `examples` None are the task's own."""

    task: str
    partitions: Sequence[str]
    data: Path
    rounds: int | None = None
    examples: int | None = None

    @property
    def overrides(self) -> list[str]:
        """What is changed in the task file."""
        return [] if self.rounds is None else [f"coordination.rounds={self.rounds}"]


def compare(setting: Setting, seed: int, note: Callable[[str], None]) -> Compared:
    """Trains by peers, for each partition, and by Keras. `note` hears of every point.

    Raises RuntimeError when a command or a process fails, or a version misses a peer's update.
    """
    task = load_task(setting.task)
    with tempfile.TemporaryDirectory(prefix="minga-federated-") as temporary:
        folder = Path(temporary)
        place = folder / "tasks" / setting.task
        keras.utils.set_random_seed(seed)
        model = task.build()
        plan = _write_task(place, model, setting)
        sources = task.prepare(setting.data, folder, seed, setting.examples)
        first = np.fromfile(place / "bundle" / "weights.bin", "<f4")
        federated: list[Run] = []
        for partition in setting.partitions:
            examined = _cut(place, sources, partition, seed)
            yardstick = Yardstick(model, task, str(plan.model.loss), examined)
            points = _by_peers(setting, task, yardstick, folder, partition, seed)
            federated.append(_run(partition, seed, examined.parts, points, note))
        # Where a client has fewer examples than a batch, fewer samples are trained on.
        samples = sorted({point.samples for run in federated for point in run.points})
        points = yardstick.train(first, samples, seed)
        central = _run(CENTRAL, seed, [len(examined.train)], points, note)
    return Compared(
        parameters=len(first),
        examples=len(examined.train),
        held_out=len(examined.held_out),
        rounds=plan.coordination.rounds,
        central=central,
        federated=federated,
    )


def _write_task(place: Path, model: Any, setting: Setting) -> TaskFile:
    """The task's folder with its bundle, made by `minga convert`."""
    place.mkdir(parents=True)
    shutil.copy(task_file(setting.task), place / "task.toml")
    model.save(place / "model.keras")
    words = [str(place / "model.keras"), "--task", str(place / "task.toml"), "-o", str(place / "bundle")]
    minga("convert", *words)
    return read_task_file(place / "task.toml", setting.overrides)


def _cut(place: Path, sources: Sources, partition: str, seed: int) -> Examined:
    """Deals the data out by `minga shard`.

    The held-out shards are kept from the server, which would measure every version: both sides are measured
    here, by the same function.
    """
    words = [str(sources.train), "--task", str(place / "task.toml"), "--seed", str(seed), "--force"]
    words += ["--test", str(sources.test)] if sources.test else ["--holdout", str(sources.holdout)]
    words += ["--clients", str(CLIENTS)] + (["--alpha", str(ALPHA)] if partition == "dirichlet" else [])
    minga("shard", *words)
    examined = read_examples(place)
    index = place / "shards" / "shards.json"
    index.write_text(json.dumps(json.loads(index.read_text("utf-8")) | {"holdout": []}), "utf-8")
    return examined


def _by_peers(
    setting: Setting, task: Task, yardstick: Yardstick, folder: Path, partition: str, seed: int
) -> Iterator[tuple[int, Measured]]:
    overrides = [f"{setting.task}.{one}" for one in setting.overrides]
    home = folder / partition
    home.mkdir()
    for version in train(folder / "tasks", overrides, home, seed, CLIENTS, task.every):
        if version.accepted != CLIENTS:
            raise RuntimeError(f"Version {version.number} has {version.accepted} updates of {CLIENTS}.")
        yield version.samples, yardstick.measure(version.weights)


def _run(
    partition: str,
    seed: int,
    parts: list[int],
    measures: Iterator[tuple[int, Measured]],
    note: Callable[[str], None],
) -> Run:
    points: list[Point] = []
    began = time.monotonic()
    for samples, measured in measures:
        points.append(Point(samples, round(measured.accuracy, 5), round(measured.loss, 5)))
        note(f"{partition}, seed {seed}, {samples:,} samples: {100 * measured.accuracy:.1f} %")
    return Run(partition, seed, parts, round(time.monotonic() - began, 1), points)
