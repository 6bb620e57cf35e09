"""Whether results of the same work are the same: floating-point numbers of unlike machines never quite are.

As BOINC's validators do it (Anderson 2020), with "equal" being near enough: in length and in direction.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from backend.numerics.vectors import Vector, blocks


@dataclass(frozen=True)
class Likeness:
    """Of two vectors: the norm of their difference by the longer one's, and the cosine between them.

    Two of zeros only are equal; with values that are not finite, nothing is like anything.
    """

    distance: float
    cosine: float


@dataclass(frozen=True)
class Tolerance:
    """Results are the same up to this `distance` and down to this `cosine`.

    Beyond them it cannot be told, up to the distance `blame`: what is farther was not worked for.
    """

    distance: float
    cosine: float
    blame: float

    def __post_init__(self) -> None:
        if not 0.0 < self.distance <= self.blame < 1.0 or not -1.0 <= self.cosine < 1.0:
            raise ValueError("0 < distance <= blame < 1, and -1 <= cosine < 1")


class Agreement(StrEnum):
    """What a comparison of two results, or of one with others, found."""

    SAME = "same"
    DOUBTFUL = "doubtful"
    OTHER = "other"


def likeness(first: Vector, second: Vector) -> Likeness:
    """Of two vectors [P], in float64. Raises ValueError where their lengths differ."""
    if len(first) != len(second):
        raise ValueError(f"Vectors of {len(first)} and {len(second)} values are of unlike models.")
    apart = one = other = inner = 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        for part in blocks(len(first)):
            a, b = first[part].astype(np.float64), second[part].astype(np.float64)
            gap = a - b
            apart += float(gap @ gap)
            one, other, inner = one + float(a @ a), other + float(b @ b), inner + float(a @ b)
    if not all(map(math.isfinite, (apart, one, other))):
        return Likeness(math.inf, -1.0)
    if not one or not other:
        return Likeness(0.0, 1.0) if one == other else Likeness(1.0, 0.0)
    return Likeness(math.sqrt(apart / max(one, other)), inner / math.sqrt(one * other))


def agreement(found: Likeness, tolerance: Tolerance) -> Agreement:
    """Whether two results that are so much alike are the same."""
    if found.distance <= tolerance.distance and found.cosine >= tolerance.cosine:
        return Agreement.SAME
    return Agreement.DOUBTFUL if found.distance <= tolerance.blame else Agreement.OTHER


def majority(size: int, pairs: Mapping[tuple[int, int], Agreement]) -> Sequence[Agreement] | None:
    """What of `size` results holds, by `pairs` (i, j), i < j; None where no more than half agree.

    The one with which most are the same is the measure, the first of those. Two at least have to agree.
    """

    def between(i: int, j: int) -> Agreement:
        return Agreement.SAME if i == j else pairs[min(i, j), max(i, j)]

    rows = [[between(i, j) for j in range(size)] for i in range(size)]
    best = max(rows, key=lambda row: row.count(Agreement.SAME), default=[])
    return best if best.count(Agreement.SAME) > max(1, size / 2) else None
