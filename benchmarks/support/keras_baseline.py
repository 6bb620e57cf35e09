"""Yardstick: trains a Keras model by Keras alone, and measures both sides of a comparison."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backend.formats.manifest import parse_manifest
from backend.peer.data.shards import Examples, join_shards, read_shard
from benchmarks.tasks import Task

MEASURING_BATCH = 250


@dataclass(frozen=True)
class Measured:
    """The share of right answers and the mean loss on the held-out examples."""

    accuracy: float
    loss: float


@dataclass(frozen=True)
class Examined:
    """Training and held-out examples of a sharded task, as the model takes them."""

    train: Examples
    held_out: Examples
    parts: list[int]


def read_examples(folder: Path) -> Examined:
    """Reads the shards of the task in `folder`, and each client's number of examples.

    There is one number where all clients share all examples.
    """
    manifest = parse_manifest((folder / "bundle" / "bundle.json").read_bytes())
    shards = folder / "shards"
    index = json.loads((shards / "shards.json").read_text("utf-8"))
    train, held_out = (
        join_shards(read_shard((shards / one["file"]).read_bytes(), manifest) for one in index[name])
        for name in ("train", "holdout")
    )
    parts = [0] * (1 + max(one["part"] or 0 for one in index["train"]))
    for one in index["train"]:
        parts[one["part"] or 0] += one["examples"]
    return Examined(train, held_out, parts)


class Yardstick:
    """A Keras model with its first weights that can be trained and can measure any flat vector.

    `seconds` is the processor time spent on training.
    """

    def __init__(self, model: Any, task: Task, loss: str, examined: Examined) -> None:
        self._model, self._task, self._examined = model, task, examined
        self._variables = [*model.trainable_variables, *_state(model)]
        self.seconds = 0.0
        model.compile(task.optimizer(), loss, metrics=["accuracy"], jit_compile=False)

    def flat(self) -> NDArray[np.float32]:
        """Returns the weights [P] in the order of a bundle's flat vector."""
        return np.concatenate([np.asarray(variable, "<f4").ravel() for variable in self._variables])

    def measure(self, weights: NDArray[np.float32]) -> Measured:
        """Returns accuracy and loss of `weights` [P], by Keras; the model keeps these weights."""
        starts = np.cumsum([0, *(int(np.prod(variable.shape)) for variable in self._variables)])
        for variable, start, end in zip(self._variables, starts, starts[1:], strict=False):
            variable.assign(weights[start:end].reshape(variable.shape))
        x, y = self._examined.held_out.x[0], self._examined.held_out.y[0]
        loss, accuracy = self._model.evaluate(x, y, batch_size=MEASURING_BATCH, verbose=0)
        return Measured(accuracy, loss)

    def warm_up(self) -> None:
        """Lets Keras trace its step, so that `seconds` leaves tracing out; nothing is learned."""
        size = self._task.batch_size
        x, y = self._examined.train.x[0][:size], self._examined.train.y[0][:size]
        self._model.fit(x, y, batch_size=size, sample_weight=np.zeros(len(x)), verbose=0)
        self._model.optimizer.iterations.assign(0)

    def train(
        self, weights: NDArray[np.float32], samples: Sequence[int], seed: int
    ) -> Iterator[tuple[int, Measured]]:
        """Trains by Keras' own `fit` from `weights` [P]; measures after each of `samples`.

        The seed decides the order: every example once, shuffled, then all of them again.
        """
        self.measure(weights)
        x, y = self._examined.train.x[0], self._examined.train.y[0]
        random = np.random.default_rng(seed)
        epochs = -(-samples[-1] // len(x))
        order = np.concatenate([random.permutation(len(x)) for _ in range(epochs)])
        for begin, end in pairwise([0, *samples]):
            rows = order[begin:end]
            began = time.process_time()
            self._model.fit(x[rows], y[rows], batch_size=self._task.batch_size, shuffle=False, verbose=0)
            self.seconds += time.process_time() - began
            yield end, self.measure(self.flat())


def _state(model: Any) -> list[Any]:
    return [one for one in model.non_trainable_variables if "seed_generator" not in one.path]
