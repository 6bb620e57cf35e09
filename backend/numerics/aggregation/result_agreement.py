"""Compares results of the same work unit within a tolerance, because machines round differently.

This is fuzzy comparison as in BOINC's validators (Anderson 2020), by length and direction.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from backend.numerics.vectors import Vector, blocks


@dataclass(frozen=True)
class Likeness:
    """The difference of two vectors: its norm relative to the longer vector, and the cosine between them.

    Two zero vectors are equal; a vector with values that are not finite is unlike every vector.
    """

    distance: float
    cosine: float


@dataclass(frozen=True)
class Tolerance:
    """Two results agree at a distance of at most `distance` and a cosine of at least `cosine`.

    Otherwise the comparison is doubtful up to the distance `blame`; a result farther away is wrong.
    """

    distance: float
    cosine: float
    blame: float

    def __post_init__(self) -> None:
        if not 0.0 < self.distance <= self.blame < 1.0 or not -1.0 <= self.cosine < 1.0:
            raise ValueError("0 < distance <= blame < 1, and -1 <= cosine < 1")


class Agreement(StrEnum):
    """The outcome of comparing two results, or one result with others."""

    SAME = "same"
    DOUBTFUL = "doubtful"
    OTHER = "other"


def shortest_compared(weights: Vector, steps: int, tolerance: Tolerance) -> float:
    """Returns the norm that an update of `weights` [P] needs to be compared by its own length.

    Weights are rounded after each step, to 2^-24 of their size; a quarter of the distance is for that.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        size = math.sqrt(sum(float(part @ part) for part in _in_float64(weights)))
    if not math.isfinite(size):
        return 0.0
    return 4.0 * size * 2.0**-24 * math.sqrt(2.0 * steps) / tolerance.distance


def likeness(first: Vector, second: Vector, shortest: float = 0.0) -> Likeness:
    """Returns the likeness of two vectors [P], in float64. Raises ValueError if their lengths differ.

    Where both are shorter than `shortest`, they are compared as if they had in common what is missing to it.
    """
    if len(first) != len(second):
        raise ValueError(f"Vectors of {len(first)} and {len(second)} values belong to different models.")
    apart = squares_a = squares_b = inner = 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        for part in blocks(len(first)):
            a, b = first[part].astype(np.float64), second[part].astype(np.float64)
            gap = a - b
            apart += float(gap @ gap)
            squares_a, squares_b = squares_a + float(a @ a), squares_b + float(b @ b)
            inner += float(a @ b)
    if not all(map(math.isfinite, (apart, squares_a, squares_b))):
        return Likeness(math.inf, -1.0)
    common = max(0.0, shortest**2 - max(squares_a, squares_b))
    squares_a, squares_b, inner = squares_a + common, squares_b + common, inner + common
    if not squares_a or not squares_b:
        return Likeness(0.0, 1.0) if squares_a == squares_b else Likeness(1.0, 0.0)
    return Likeness(math.sqrt(apart / max(squares_a, squares_b)), inner / math.sqrt(squares_a * squares_b))


def _in_float64(vector: Vector) -> Iterator[NDArray[np.float64]]:
    return (vector[part].astype(np.float64) for part in blocks(len(vector)))


def agreement(measured: Likeness, tolerance: Tolerance) -> Agreement:
    """Returns whether two results with this likeness agree."""
    if measured.distance <= tolerance.distance and measured.cosine >= tolerance.cosine:
        return Agreement.SAME
    return Agreement.DOUBTFUL if measured.distance <= tolerance.blame else Agreement.OTHER


def majority(size: int, pairs: Mapping[tuple[int, int], Agreement]) -> Sequence[Agreement] | None:
    """Returns how each of `size` results agrees with the majority; None if no more than half agree.

    `pairs` compares results (i, j), i < j. The result that agrees with most others is the reference, the
    first of several. At least two have to agree.
    """

    def between(i: int, j: int) -> Agreement:
        return Agreement.SAME if i == j else pairs[min(i, j), max(i, j)]

    rows = [[between(i, j) for j in range(size)] for i in range(size)]
    best = max(rows, key=lambda row: row.count(Agreement.SAME), default=[])
    return best if best.count(Agreement.SAME) > max(1, size / 2) else None
