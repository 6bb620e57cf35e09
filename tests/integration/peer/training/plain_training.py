"""A small task trained by plain gradient descent, and the same training written down in numpy.

Three shards of different sizes hold different digits, so that what three clients learn drifts apart. A step
takes all examples of a client: their order cannot matter.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from tests.support.tasks.task_build import built

Array = NDArray[np.float64]
Examples = tuple[Array, NDArray[np.int64]]

PIXELS, HIDDEN, CLASSES = 64, 6, 10
SHAPES = ((PIXELS, HIDDEN), (HIDDEN,), (HIDDEN, CLASSES), (CLASSES,))
SIZES = (20, 50, 90)
HELD_OUT = (30, 45, 25)
STEPS, RATE = 4, 0.5

TASK = f"""
name = "plain"
title = "Plain gradient descent"
[model]
file = "built/model.keras"
bundle = "built/bundle"
batch_size = {max(SIZES)}
loss = "sparse_categorical_crossentropy"
metrics = ["accuracy", {{ name = "sparse_top_k_categorical_accuracy", k = 3 }}]
optimizer = {{ name = "sgd", learning_rate = {RATE} }}
[data]
source = "shards"
shards = "built/shards"
shards_per_client = 1
[training]
steps = {STEPS}
[coordination]
scheme = "federated"
rounds = 2
min_available_clients = {len(SIZES)}
quorum = {len(SIZES)}
gather = 0
deadline = 120
adaptive_deadline = false
"""

BUILD = f"""
import sys
from pathlib import Path

import keras

from tests.integration.peer.training.plain_training import write_shards

out = Path(sys.argv[1])
out.mkdir(parents=True)
keras.utils.set_random_seed(3)
keras.Sequential([
    keras.Input(({PIXELS},), name="pixels"),
    keras.layers.Dense({HIDDEN}, activation="tanh", name="hidden"),
    keras.layers.Dense({CLASSES}, activation="softmax", name="digit"),
]).save(out / "model.keras")
write_shards(out / "shards")
"""


def build_plain(folder: Path, *, rows: int | None = None) -> Path:
    """The task's folder, built; with `rows` its batches come in slices of so many, too."""
    folder.mkdir()
    whole = f"batch_size = {max(SIZES)}"
    task = TASK if rows is None else TASK.replace(whole, f"{whole}\nslice = {rows}")
    (folder / "task.toml").write_text(task)
    (folder / "build.py").write_text(BUILD)
    return built(folder)


def parts() -> tuple[list[Examples], list[Examples]]:
    """Pixels [n, 64] and digits [n] of each shard, sorted by digit, and of each held-out shard."""
    # Imported here because it takes seconds, and collecting tests should not wait for it.
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    x, y = x / 16.0, y.astype(np.int64)
    count, held = sum(SIZES), sum(HELD_OUT)
    order = np.argsort(y[:count], kind="stable")
    train = np.split(order, np.cumsum(SIZES)[:-1])
    holdout = np.split(np.arange(count, count + held), np.cumsum(HELD_OUT)[:-1])
    return [(x[rows], y[rows]) for rows in train], [(x[rows], y[rows]) for rows in holdout]


def write_shards(folder: Path) -> None:
    """Both lists as the server takes them."""
    folder.mkdir()
    train, holdout = parts()
    index = {
        "train": [_write(folder, *one) for one in train],
        "holdout": [_write(folder, *one) for one in holdout],
    }
    (folder / "shards.json").write_text(json.dumps(index))


def _write(folder: Path, x: Array, y: NDArray[np.int64]) -> dict[str, Any]:
    arrays = {"x": [x.astype("<f4")], "y": [y.astype("<i4")]}
    lists = {
        key: [{"dtype": one.dtype.name, "shape": list(one.shape), "data": one.tobytes()} for one in values]
        for key, values in arrays.items()
    }
    data = msgspec.msgpack.encode({"format": "minga-shard/2", "examples": len(x), **lists})
    digest = hashlib.sha256(data).hexdigest()
    (folder / f"{digest}.shard").write_bytes(data)
    return {"file": f"{digest}.shard", "sha256": digest, "examples": len(x), "bytes": len(data)}


def probabilities(w: Array, x: Array) -> tuple[Array, Array]:
    """Hidden values [n, 6] and probabilities [n, 10] by the flat weights `w`."""
    kernel, bias, out, shift = _split(w)
    hidden = np.tanh(x @ kernel + bias)
    scores = hidden @ out + shift
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return hidden, powers / powers.sum(axis=1, keepdims=True)


def gradient(w: Array, examples: Examples) -> Array:
    """Of the mean crossentropy, by hand."""
    x, y = examples
    _, _, out, _ = _split(w)
    hidden, scores = probabilities(w, x)
    error = scores.copy()
    error[np.arange(len(y)), y] -= 1.0
    error /= len(y)
    back = (error @ out.T) * (1.0 - hidden**2)
    parts = (x.T @ back, back.sum(axis=0), hidden.T @ error, error.sum(axis=0))
    return np.concatenate([part.ravel() for part in parts])


def measured(w: Array, examples: Examples) -> tuple[float, float, float]:
    """Mean crossentropy, accuracy and accuracy of the three best."""
    x, y = examples
    _, scores = probabilities(w, x)
    right = scores[np.arange(len(y)), y]
    better = (scores > right[:, None]).sum(axis=1)
    return float(-np.log(right).mean()), float((better == 0).mean()), float((better < 3).mean())


def _split(w: Array) -> list[Array]:
    ends = np.cumsum([np.prod(shape) for shape in SHAPES])
    assert len(w) == ends[-1]
    return [part.reshape(shape) for part, shape in zip(np.split(w, ends[:-1]), SHAPES, strict=True)]


def averaged(w: Array, mean: Array) -> Array:
    """The server step of McMahan et al. 2017."""
    return w + mean


@dataclass
class Trainer:
    """Rounds in which every client takes part, each with one of `shards`.

    With `variates` Karimireddy et al. 2020, algorithm 1, option II; with `mu` Li et al. 2020, algorithm 2.
    `server` makes the next weights of the last ones and the mean update.
    """

    w: Array
    shards: list[Examples]
    variates: bool = False
    mu: float = 0.0
    server: Callable[[Array, Array], Array] = averaged
    c: Array = field(init=False)
    own: list[Array] = field(init=False)

    def __post_init__(self) -> None:
        self.c = np.zeros_like(self.w)
        self.own = [np.zeros_like(self.w) for _ in self.shards]

    def round(self) -> None:
        """One round: changes the weights and the variates."""
        moves, changes = [], []
        for number, shard in enumerate(self.shards):
            y = self.w.copy()
            for _ in range(STEPS):
                drift = self.c - self.own[number] if self.variates else 0.0
                y -= RATE * (gradient(y, shard) + drift + self.mu * (y - self.w))
            moves.append(y - self.w)
            if self.variates:
                new = self.own[number] - self.c + (self.w - y) / (STEPS * RATE)
                changes.append(new - self.own[number])
                self.own[number] = new
        sizes = [len(y) for _, y in self.shards]
        self.w = self.server(self.w, np.average(moves, axis=0, weights=sizes))
        if changes:
            self.c = self.c + np.mean(changes, axis=0)
