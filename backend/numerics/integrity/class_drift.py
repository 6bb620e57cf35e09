"""Finds the class that a version answers worse than before, or than its other classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from backend.numerics.integrity.trigger_norms import MAD_SCALE

# Differences of recall below this are usual between classes.
_USUAL_SPREAD = 0.05


@dataclass(frozen=True)
class ClassDrift:
    """The class with the largest loss of recall; `loss` is its share of examples, `deviations` its size.

    `answered` is the class that takes most of its examples instead.
    """

    worst: int
    loss: float
    deviations: float
    answered: int


def drift_between(before: NDArray[np.int64], after: NDArray[np.int64]) -> ClassDrift:
    """Compares two versions on the same examples by their confusion matrices [true class, answer].

    The loss of a class is its fall of recall beyond the median fall of all classes, in standard deviations
    of two proportions (pooled). Raises ValueError for matrices of different shapes or without examples.
    """
    old, new, counts = _recalls(before), _recalls(after), after.sum(axis=1)
    if before.shape != after.shape or not np.array_equal(before.sum(axis=1), counts):
        raise ValueError("Both versions are measured on the same examples.")
    falls = np.where(counts > 0, old - new, 0.0)
    losses = falls - np.median(falls[counts > 0])
    # Half an example more of each kind, so that a class without a mistake has a deviation, too.
    pooled = ((old + new) / 2 * counts + 0.5) / (counts + 1.0)
    errors = np.sqrt(pooled * (1.0 - pooled) * 2.0 / np.maximum(counts, 1))
    sizes = np.where(counts > 0, losses / errors, -np.inf)
    worst = int(sizes.argmax())
    gained = after[worst] - before[worst]
    gained[worst] = np.iinfo(np.int64).min
    return ClassDrift(worst, float(losses[worst]), max(float(sizes[worst]), 0.0), int(gained.argmax()))


def drift_among(confusion: NDArray[np.int64]) -> ClassDrift:
    """Compares the classes of one version with each other by its confusion matrix [true class, answer].

    The loss of a class is the median recall less its own, in scaled median absolute deviations (at least
    _USUAL_SPREAD and the standard error of its recall). Raises ValueError without examples.
    """
    recalls, counts = _recalls(confusion), confusion.sum(axis=1)
    middle = float(np.median(recalls[counts > 0]))
    spread = MAD_SCALE * float(np.median(np.abs(recalls[counts > 0] - middle)))
    errors = np.sqrt(np.maximum(middle * (1.0 - middle), 0.0) / np.maximum(counts, 1))
    sizes = np.where(counts > 0, (middle - recalls) / np.maximum(errors, max(spread, _USUAL_SPREAD)), -np.inf)
    worst = int(sizes.argmax())
    others = confusion[worst].copy()
    others[worst] = -1
    return ClassDrift(worst, middle - float(recalls[worst]), float(sizes[worst]), int(others.argmax()))


def _recalls(confusion: NDArray[np.int64]) -> NDArray[np.float64]:
    if confusion.ndim != 2 or confusion.shape[0] != confusion.shape[1] or not confusion.sum():
        raise ValueError("A confusion matrix is square and counts examples.")
    return np.asarray(confusion.diagonal() / np.maximum(confusion.sum(axis=1), 1), np.float64)
