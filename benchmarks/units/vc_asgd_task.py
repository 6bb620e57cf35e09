"""The task of benchmarks.units.vc_asgd, converted and cut into units, and Keras' own training of it."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import keras
import numpy as np

from backend.formats.task_file import read_task_file
from backend.numerics.vectors import Vector
from benchmarks.support.keras_baseline import Yardstick, read_examples
from benchmarks.support.training_run import minga
from benchmarks.tasks import load_task, task_file
from benchmarks.units.vc_asgd_report import Epoch
from benchmarks.units.vc_asgd_run import TASK


@dataclass(frozen=True)
class Prepared:
    """The folder `tasks` with the only task in it, and what it holds.

    `units` of an epoch, each of which goes `passes` times over its images.
    """

    tasks: Path
    seed: int
    parameters: int
    examples: int
    held_out: int
    units: int
    passes: int
    first: Vector
    yardstick: Yardstick

    def serial(self, epochs: int) -> list[Epoch]:
        """Keras' training on as many samples as so many epochs of units have, measured as often."""
        each, found = self.examples * self.passes, []
        self.yardstick.warm_up()
        samples = [each * number for number in range(1, epochs + 1)]
        for end, measured in self.yardstick.train(self.first, samples, self.seed):
            right = round(100 * measured.accuracy, 2)
            found.append(Epoch(end // each, round(self.yardstick.seconds, 2), right, right, right))
        return found


def prepare(data: Path, folder: Path, seed: int, examples: int | None, rows: int) -> Prepared:
    """Builds the model, chooses its images, and makes a task of them in `folder`."""
    task, place = load_task(TASK), folder / "tasks" / TASK
    place.mkdir(parents=True)
    shutil.copy(task_file(TASK), place / "task.toml")
    keras.utils.set_random_seed(seed)
    model = task.build()
    model.save(place / "model.keras")
    file = str(place / "task.toml")
    minga("convert", str(place / "model.keras"), "--task", file, "-o", str(place / "bundle"))
    sources = task.prepare(data, folder, seed, examples)
    words = ["--test", str(sources.test), "--shard-examples", str(rows), "--seed", str(seed)]
    minga("shard", str(sources.train), "--task", file, *words)
    plan, examined = read_task_file(place / "task.toml"), read_examples(place)
    first = np.fromfile(place / "bundle" / "weights.bin", "<f4")
    return Prepared(
        tasks=folder / "tasks",
        seed=seed,
        parameters=len(first),
        examples=len(examined.train),
        held_out=len(examined.held_out),
        units=len(json.loads((place / "shards" / "shards.json").read_text("utf-8"))["train"]),
        passes=plan.training.epochs or 1,
        first=first,
        yardstick=Yardstick(model, task, str(plan.model.loss), examined),
    )
