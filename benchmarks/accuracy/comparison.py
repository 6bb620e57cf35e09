"""Trains one model on one data set by Keras alone and by real peers, for one seed.

This is one seed of benchmarks.accuracy.federated.
"""

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

# The number of samples trained on, and the measurement after them.
Measures = Iterator[tuple[int, Measured]]


@dataclass(frozen=True)
class Setting:
    """The task and partitions to compare; `rounds` and `examples` None take the task's own."""

    task: str
    partitions: Sequence[str]
    data: Path
    rounds: int | None = None
    examples: int | None = None

    @property
    def overrides(self) -> list[str]:
        """Returns the changes to the task file."""
        return [] if self.rounds is None else [f"coordination.rounds={self.rounds}"]


def compare(setting: Setting, seed: int, note: Callable[[str], None]) -> Compared:
    """Trains by peers, once per partition, and by Keras; `note` is called for every point.

    Raises RuntimeError when a command or a process fails, or a version lacks a peer's update.
    """
    task = load_task(setting.task)
    with tempfile.TemporaryDirectory(prefix="minga-federated-") as temporary:
        folder = Path(temporary)
        task_folder = folder / "tasks" / setting.task
        keras.utils.set_random_seed(seed)
        model = task.build()
        plan = _write_task(task_folder, model, setting)
        sources = task.prepare(setting.data, folder, seed, setting.examples)
        first = np.fromfile(task_folder / "bundle" / "weights.bin", "<f4")
        federated: list[Run] = []
        for partition in setting.partitions:
            examined = _cut(task_folder, sources, partition, seed)
            yardstick = Yardstick(model, task, str(plan.model.loss), examined)
            points = _by_peers(setting, task, yardstick, folder, partition, seed)
            federated.append(_run(partition, seed, examined.parts, points, note))
        # A client with fewer examples than a batch trains on fewer samples.
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


def _write_task(task_folder: Path, model: Any, setting: Setting) -> TaskFile:
    """Writes the task's folder with its bundle, made by `minga convert`."""
    task_folder.mkdir(parents=True)
    shutil.copy(task_file(setting.task), task_folder / "task.toml")
    model.save(task_folder / "model.keras")
    arguments = [
        str(task_folder / "model.keras"),
        "--task",
        str(task_folder / "task.toml"),
        "-o",
        str(task_folder / "bundle"),
    ]
    minga("convert", *arguments)
    return read_task_file(task_folder / "task.toml", setting.overrides)


def _cut(task_folder: Path, sources: Sources, partition: str, seed: int) -> Examined:
    """Partitions the data by `minga shard`.

    The held-out shards are removed from the server's index, since the server would measure every version on
    them; this process measures both sides by the same function instead.
    """
    arguments = [str(sources.train), "--task", str(task_folder / "task.toml"), "--seed", str(seed), "--force"]
    arguments += ["--test", str(sources.test)] if sources.test else ["--holdout", str(sources.holdout)]
    arguments += ["--clients", str(CLIENTS)] + (["--alpha", str(ALPHA)] if partition == "dirichlet" else [])
    minga("shard", *arguments)
    examined = read_examples(task_folder)
    index = task_folder / "shards" / "shards.json"
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
