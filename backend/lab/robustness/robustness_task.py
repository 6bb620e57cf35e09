"""Opens a task of this machine for the robustness lab: its graphs, its examples and its server's settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from backend.errors import TaskFileError
from backend.formats.shard_index import read_index
from backend.formats.task_file import TaskFile, read_task_file
from backend.formats.task_file.server_optimizer import hyperparameters, name_of
from backend.lab.leakage.lab_round import LocalTraining
from backend.numerics.aggregation.server_optimizers import SERVER_OPTIMIZERS, ServerOptimizer
from backend.numerics.client_split import dirichlet, iid
from backend.numerics.vectors import Vector
from backend.peer.data.shards import Examples, join_shards, read_shard
from backend.peer.training.graphs import Graphs, import_graphs, open_bundle

METRIC = "accuracy"


@dataclass(frozen=True)
class RobustnessTask:
    """A task with federated rounds, one input, and one label of `classes`.

    `weights` [P] are the first version; `train` and `held_out` the examples of the folder `shards`.
    """

    file: TaskFile
    bundle: Path
    shards: Path
    graphs: Graphs
    weights: Vector
    training: LocalTraining
    train: Examples
    held_out: Examples
    classes: int

    def server_optimizer(self) -> ServerOptimizer:
        """Returns the optimizer with which the server makes versions from aggregates."""
        chosen = self.file.coordination.server_optimizer
        return SERVER_OPTIMIZERS[name_of(chosen)](**hyperparameters(chosen))

    @property
    def server_learning_rate(self) -> float:
        """The factor from an aggregate to the version's change; 1 where the optimizer adapts it."""
        return float(hyperparameters(self.file.coordination.server_optimizer).get("learning_rate", 1.0))

    def pixel_range(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Returns the least and the largest value of the examples in each channel, of their last axis."""
        parts = [part.x[0].reshape(-1, part.x[0].shape[-1]) for part in (self.train, self.held_out)]
        return np.min([one.min(axis=0) for one in parts], axis=0), np.max(
            [one.max(axis=0) for one in parts], axis=0
        )

    def split(self, clients: int, alpha: float | None, seed: int) -> list[NDArray[np.int64]]:
        """Returns the numbers of each client's examples: even, or skewed by Dirichlet's `alpha`.

        Raises TaskFileError where the examples are too few.
        """
        random = np.random.default_rng(seed)
        if len(self.train) < clients:
            raise TaskFileError(f"The task has {len(self.train)} examples for {clients} clients; take fewer.")
        if alpha is None:
            return iid(len(self.train), clients, random)
        try:
            return dirichlet(self.train.y[0].astype(np.int64), clients, alpha, random)
        except ValueError as error:
            raise TaskFileError(str(error)) from error


def open_robustness_task(
    path: Path, overrides: Sequence[str] = (), shards: Path | None = None
) -> RobustnessTask:
    """Opens the task file at `path`, which is built, with values set by `overrides`.

    `shards` are examples for a task that has none of its own.
    Raises TaskFileError, BundleError or DataError if the task cannot be attacked here.
    """
    file = read_task_file(path, overrides)
    if file.coordination.scheme != "federated":
        raise TaskFileError(
            f"{path}: the robustness lab attacks federated rounds, and the scheme of this task is "
            f"{file.coordination.scheme}."
        )
    if file.security.masks:
        raise TaskFileError(
            f"{path}: its updates are masked, and rules compare single updates. Attack it without masks: "
            "--set 'security.aggregation=[\"open\"]', and take [security.masking] out."
        )
    bundle = path.parent / file.model.bundle
    if shards is None and file.data.shards is not None:
        shards = path.parent / file.data.shards
    if shards is None:
        raise TaskFileError(
            f"{path}: its examples stay with volunteers. Give some of your own with --data PATH, as a "
            "volunteer would."
        )
    if not (bundle / "bundle.json").is_file():
        raise TaskFileError(
            f"{path}: it has no bundle in {bundle}. Run `minga build {path.parent.name}` first."
        )
    opened = open_bundle(bundle, ("train", "apply", "evaluate"))
    manifest, index = opened.manifest, read_index(shards)
    losses = [output.loss for output in manifest.outputs]
    metrics = [metric.name for metric in manifest.metrics]
    if len(manifest.inputs) != 1 or losses != ["sparse_categorical_crossentropy"] or METRIC not in metrics:
        raise TaskFileError(
            f"{path}: the robustness lab needs one input, one output with sparse_categorical_crossentropy, "
            f"and the metric {METRIC}."
        )
    if not index.holdout:
        raise TaskFileError(f"{path}: its data have no held-out shards, on which accuracy is measured.")
    train, held_out = (
        join_shards(read_shard((shards / shard.file).read_bytes(), manifest) for shard in part)
        for part in (index.train, index.holdout)
    )
    own = file.training
    training = LocalTraining(
        epochs=own.epochs or 1,
        steps=own.steps or 0,
        batch_size=own.batch_size or manifest.batch_size,
        learning_rate=own.learning_rate or manifest.optimizer.learning_rate,
    )
    weights = np.fromfile(bundle / "weights.bin", "<f4")
    graphs, classes = import_graphs(opened, "cpu"), int(manifest.outputs[0].shape[-1])
    return RobustnessTask(file, bundle, shards, graphs, weights, training, train, held_out, classes)
