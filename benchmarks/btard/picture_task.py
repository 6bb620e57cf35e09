"""Pictures of ten classes and a perceptron of one hidden layer, a step of which takes 0.1 ms of a core.

The work of a member is one step on a batch: what it adds to the weights at learning rate 1.
"""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backend.errors import DataError
from backend.numerics.vectors import Vector
from benchmarks.support.dense_task import ROOT

CLASSES = 10
TASKS = ("digits", "cifar10")
# Examples of one public shard.
SHARD = 100
_HELD_OUT, _SPLIT_SEED = 297, 8
_PICTURES, _TEST_PICTURES = 10_000, 2000
# Of 0.005, 0.01 and 0.02 this one ends best without an attack, on four seeds: 41.1, 42.1 and 41.7 %.
_PICTURES_RATE = 0.01
# Levels of a photograph's pixels.
_MIDDLE, _UNIT = 120.0, 64.0


@dataclass(frozen=True)
class Pictures:
    """Examples `x` [n, values], with their classes `y` [n]."""

    x: Vector
    y: NDArray[np.int64]


class PictureTask:
    """A task with `hidden` units, trained at the outer `rate`.

    `train` is cut into public shards; accuracy is that of `held_out`. An `x` of 0 is the level `middle` of a
    pixel, and one of 1 is `unit` levels above it.
    """

    def __init__(
        self,
        name: str,
        train: Pictures,
        held_out: Pictures,
        hidden: int,
        rate: float = 0.1,
        *,
        middle: float = 0.0,
        unit: float = 16.0,
    ) -> None:
        self.name, self.train, self.held_out, self.rate = name, train, held_out, rate
        self.hidden, self.middle, self.unit = hidden, middle, unit
        inputs = train.x.shape[1]
        self._shapes = [(inputs, hidden), (hidden,), (hidden, CLASSES), (CLASSES,)]
        self._ends = [0, *np.cumsum([int(np.prod(shape)) for shape in self._shapes]).tolist()]

    @property
    def parameters(self) -> int:
        """The number of weights."""
        return int(self._ends[-1])

    @property
    def shards(self) -> int:
        """The number of public shards."""
        return len(self.train.y) // SHARD

    def pixels(self) -> NDArray[np.uint8]:
        """Returns the levels [n, values] of the training examples."""
        levels: NDArray[np.uint8] = np.rint(self.train.x * self.unit + self.middle).astype(np.uint8)
        return levels

    def first_weights(self, seed: int) -> Vector:
        """Returns the weights that a training begins with (He et al. 2015)."""
        random = np.random.default_rng([seed, 1])
        layers = [
            random.normal(0.0, np.sqrt(2.0 / shape[0]), shape) if len(shape) > 1 else np.zeros(shape)
            for shape in self._shapes
        ]
        weights: Vector = np.concatenate([layer.ravel() for layer in layers]).astype(np.float32)
        return weights

    def update(self, weights: Vector, rows: NDArray[np.int64], labels: NDArray[np.int64]) -> Vector:
        """Returns what a step on the examples `rows` adds to `weights` [P]; `labels` are those of all."""
        first, first_bias, second, second_bias = self.layers(weights)
        x, y = self.train.x[rows], labels[rows]
        with np.errstate(all="ignore"):
            hidden = np.maximum(x @ first + first_bias, 0.0)
            errors = _softmax(hidden @ second + second_bias)
            errors[np.arange(len(rows)), y] -= 1.0
            errors /= len(rows)
            back = (errors @ second.T) * (hidden > 0.0)
            gradients = (x.T @ back, back.sum(axis=0), hidden.T @ errors, errors.sum(axis=0))
        update: Vector = -np.concatenate([one.ravel() for one in gradients])
        return update

    def accuracy(self, weights: Vector) -> float:
        """Returns the share of held-out examples that are classified right."""
        first, first_bias, second, second_bias = self.layers(weights)
        with np.errstate(all="ignore"):
            hidden = np.maximum(self.held_out.x @ first + first_bias, 0.0)
            found = np.argmax(hidden @ second + second_bias, axis=1)
        return float((found == self.held_out.y).mean())

    def layers(self, weights: Vector) -> list[Vector]:
        """Returns the kernels and biases of both layers, of all weights [P]."""
        parts = [weights[start:end] for start, end in pairwise(self._ends)]
        return [part.reshape(shape) for part, shape in zip(parts, self._shapes, strict=True)]


def open_task(name: str) -> PictureTask:
    """Opens one of TASKS; `cifar10` takes 10,000 pictures of MINGA_DATA. Raises DataError without them."""
    if name == "digits":
        return _digits()
    data = Path(os.environ.get("MINGA_DATA", ROOT.parent / "shared" / "data"))
    train, test = data / "cifar10_train.zip", data / "cifar10_test.zip"
    if not (train.is_file() and test.is_file()):
        raise DataError(f"There is no CIFAR-10 in {data}; set MINGA_DATA to the folder with the real data.")
    return PictureTask(
        name,
        _photographs(train, _PICTURES),
        _photographs(test, _TEST_PICTURES),
        32,
        _PICTURES_RATE,
        middle=_MIDDLE,
        unit=_UNIT,
    )


def _digits() -> PictureTask:
    """Returns scikit-learn's digits, split as models/digits does."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    pixels, digits = load_digits(return_X_y=True)
    split: Sequence[Any] = train_test_split(
        pixels, digits, test_size=_HELD_OUT, stratify=digits, shuffle=True, random_state=_SPLIT_SEED
    )
    x_train, x_test, y_train, y_test = split
    train = Pictures((x_train / 16.0).astype(np.float32), y_train.astype(np.int64))
    return PictureTask(
        "digits", train, Pictures((x_test / 16.0).astype(np.float32), y_test.astype(np.int64)), 64
    )


def _photographs(archive: Path, count: int) -> Pictures:
    """Returns equally many photographs of each class, the first of each folder, shuffled."""
    from PIL import Image

    x, y = list[Vector](), list[int]()
    with zipfile.ZipFile(archive) as images:
        names = sorted(images.namelist())
        for number, label in enumerate(sorted({name.partition("/")[0] for name in names})):
            for name in [one for one in names if one.startswith(f"{label}/")][: count // CLASSES]:
                picture = np.asarray(Image.open(io.BytesIO(images.read(name))), np.float32)
                x.append((picture.ravel() - _MIDDLE) / _UNIT)
                y.append(number)
    order = np.random.default_rng(0).permutation(len(y))
    return Pictures(np.stack(x)[order], np.array(y, np.int64)[order])


def _softmax(values: Vector) -> Vector:
    values = values - values.max(axis=1, keepdims=True)
    powers: Vector = np.exp(values)
    powers /= powers.sum(axis=1, keepdims=True)
    return powers
