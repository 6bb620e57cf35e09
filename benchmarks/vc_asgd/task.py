"""Converts and shards the task of benchmarks.vc_asgd, and trains it by Keras alone."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import keras
import numpy as np

from backend.formats.task_file import read_task_file
from backend.numerics.vectors import Vector
from benchmarks.support.keras_baseline import Yardstick, read_examples
from benchmarks.support.training_run import minga
from benchmarks.tasks import load_task, task_file
from benchmarks.tasks.resnet.task import build
from benchmarks.vc_asgd.report import Epoch
from benchmarks.vc_asgd.run import TASK


@dataclass(frozen=True)
class Prepared:
    """The folder `tasks` with its only task, and the task's numbers.

    An epoch has `units` units, each of which trains `passes` times over its images. `spare` is a copy of the
    yardstick, to measure times without touching the state of its optimizer.
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
    spare: Yardstick

    def unit_seconds(self) -> float:
        """Returns the processor seconds in which Keras trains one unit, the third; the first is traced."""
        unit = self.examples * self.passes // self.units
        units = [unit, 2 * unit, 3 * unit]
        ends = [self.spare.seconds for _ in self.spare.train(self.first, units, self.seed)]
        return ends[-1] - ends[-2]

    def serial(self, epochs: int) -> list[Epoch]:
        """Trains by Keras on as many samples as so many epochs of units have, measured as often."""
        samples_per_epoch, curve = self.examples * self.passes, []
        self.yardstick.warm_up()
        samples = [samples_per_epoch * number for number in range(1, epochs + 1)]
        for end, measured in self.yardstick.train(self.first, samples, self.seed):
            accuracy = round(100 * measured.accuracy, 2)
            curve.append(
                Epoch(
                    end // samples_per_epoch, round(self.yardstick.seconds, 2), accuracy, accuracy, accuracy
                )
            )
        return curve


def prepare(
    data: Path, folder: Path, seed: int, examples: int | None, rows: int, filters: int = 16
) -> Prepared:
    """Builds the model with so many `filters`, chooses its images, and makes a task of them in `folder`."""
    task = replace(load_task(TASK), build=partial(build, filters))
    task_folder = folder / "tasks" / TASK
    task_folder.mkdir(parents=True)
    shutil.copy(task_file(TASK), task_folder / "task.toml")
    keras.utils.set_random_seed(seed)
    model = task.build()
    model.save(task_folder / "model.keras")
    file = str(task_folder / "task.toml")
    minga("convert", str(task_folder / "model.keras"), "--task", file, "-o", str(task_folder / "bundle"))
    sources = task.prepare(data, folder, seed, examples)
    arguments = ["--test", str(sources.test), "--shard-examples", str(rows), "--seed", str(seed)]
    minga("shard", str(sources.train), "--task", file, *arguments)
    plan, examined = read_task_file(task_folder / "task.toml"), read_examples(task_folder)
    first = np.fromfile(task_folder / "bundle" / "weights.bin", "<f4")
    return Prepared(
        tasks=folder / "tasks",
        seed=seed,
        parameters=len(first),
        examples=len(examined.train),
        held_out=len(examined.held_out),
        units=len(json.loads((task_folder / "shards" / "shards.json").read_text("utf-8"))["train"]),
        passes=plan.training.epochs or 1,
        first=first,
        yardstick=Yardstick(model, task, str(plan.model.loss), examined),
        spare=Yardstick(keras.models.clone_model(model), task, str(plan.model.loss), examined),
    )
