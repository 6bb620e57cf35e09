"""A volunteer with a few digits who trains the gallery's model on them. Imports TensorFlow."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from backend.commands.build import build_task
from backend.peer.data.shards import Examples, join_shards, read_shard
from backend.peer.training.graphs import import_graphs, import_tensorflow, open_bundle
from backend.peer.training.private_step import ExampleClip
from backend.peer.training.step import Vector, never
from backend.peer.training.trainer import Trainer, TrainingPlan, TrainingResult
from backend.server.sandbox.conversion import convert
from benchmarks.privacy.membership_attack import Members
from benchmarks.support.dense_task import ROOT

TASK = ROOT / "models" / "digits"
ROWS = 32


@dataclass(frozen=True)
class Digits:
    """All available digits; `pool` (may be trained on) and `rest` are example numbers."""

    examples: Examples
    pool: NDArray[np.int64]
    rest: NDArray[np.int64]

    @property
    def labels(self) -> NDArray[np.int64]:
        return self.examples.y[0].astype(np.int64)

    @classmethod
    def load(cls, pool: int, seed: int) -> Digits:
        """Loads the gallery's digits, built if necessary, with a random pool of this size."""
        build_task(TASK)
        shards = TASK / "built" / "shards"
        manifest = open_bundle(TASK / "built" / "bundle", []).manifest
        index = json.loads((shards / "shards.json").read_text("utf-8"))
        files = [one["file"] for name in ("train", "holdout") for one in index[name]]
        examples = join_shards(read_shard((shards / file).read_bytes(), manifest) for file in files)
        order = np.random.default_rng(seed).permutation(len(examples))
        return cls(examples, order[:pool], order[pool:])

    def select(self, rows: NDArray[np.int64]) -> Examples:
        """Selects these examples."""
        examples = self.examples
        return Examples(
            tuple(values[rows] for values in examples.x),
            tuple(values[rows] for values in examples.y),
            examples.sample_weight[rows],
        )


class Volunteer:
    """Trains from the task's version 0, by the peer's own trainer.

    The bundle is converted again, for batches of `batch_size` and, if `private`, slices of one row.
    """

    def __init__(self, bundle: Path, digits: Digits, batch_size: int, private: bool) -> None:
        task = bundle.with_suffix(".toml")
        rows = f"batch_size = {batch_size}" + ("\nslice = 1" if private else "")
        text = (TASK / "task.toml").read_text("utf-8").replace(f"batch_size = {ROWS}", rows)
        task.write_text(text, "utf-8")
        convert(TASK / "built" / "model.keras", task, bundle)
        names = open_bundle(bundle, ()).manifest.graphs
        graphs = import_graphs(open_bundle(bundle, names), "cpu")
        self._digits, self._trainer, self._predict = digits, Trainer(graphs), graphs.run["predict"]
        self._size = graphs.manifest.batch_size
        self._start = np.fromfile(bundle / "weights.bin", "<f4")

    def train(self, members: Members, plan: TrainingPlan) -> Vector:
        """Trains on these members of the pool; returns the weights [P] after the update."""
        return self._start + self.result(members, plan).update

    def result(self, members: Members, plan: TrainingPlan) -> TrainingResult:
        """Returns the peer's result for a plan with these members of the pool."""
        examples = self._digits.select(self._digits.pool[members])
        return self._trainer.train(self._start, plan, examples, never, lambda _: None)

    def probabilities(self, weights: Vector) -> NDArray[np.float64]:
        """Returns the ten classes' probabilities for every available digit: [n, 10]."""
        all_rows, outputs = np.arange(len(self._digits.examples)), []
        constant = import_tensorflow().constant
        for first in range(0, len(all_rows), self._size):
            rows = all_rows[first : first + self._size]
            batch = self._digits.examples.batch(rows, self._size)
            inputs = {name: constant(value) for name, value in {**batch, "trainable": weights}.items()}
            outputs.append(self._predict(inputs)["output_0"].numpy()[: len(rows)])
        probabilities: NDArray[np.float64] = np.concatenate(outputs).astype(np.float64)
        return probabilities


def plain_plan(epochs: int, rate: float, seed: int) -> TrainingPlan:
    """Returns a plan without privacy."""
    return TrainingPlan(epochs, rate, seed)


def private_plan(epochs: int, rate: float, seed: int, clip: float, noise: float) -> TrainingPlan:
    """Returns a plan with privacy of examples, each clipped separately."""
    return TrainingPlan(epochs, rate, seed, privacy=ExampleClip(clip, noise))
