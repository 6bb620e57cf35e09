"""The clipped mean of a part (ButterflyClip), which no minority of its pieces can move far.

It is the fixed point of CenteredClip (Karimireddy et al. 2021, algorithm 2), found as a weighted mean whose
weights are made again from the distances to it: a few turns where the paper's steps take hundreds. The twin
is webapp/static/src/core/numerics/butterfly/clipped-mean.ts; tests/contract/vectors/butterfly.json binds
their bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from backend.numerics.aggregation.part_mean import shares
from backend.numerics.butterfly.lane_sums import lane_differences, lane_sums, length_of
from backend.numerics.butterfly.medians import medians
from backend.numerics.vectors import Rows, Vector

# It ends when a turn moves the mean by no more than this, in radii, or after so many turns.
_SETTLED, _MOST_TURNS = 1e-6, 100
# So many values of pieces are computed together, which stay in a core's cache.
_TOGETHER = 1 << 16
# Short pieces that have no more values are taken together for their distances.
_SHORT_TOGETHER = 1 << 14


@dataclass(frozen=True)
class ClippedMean:
    """The `mean` [size] of the `pieces` of a part, after so many `turns`."""

    pieces: Rows
    mean: Vector
    turns: int

    @cached_property
    def lengths(self) -> list[float]:
        """The distance of each piece from the mean."""
        return distances(self.pieces, self.mean)


def clipped_mean(pieces: Rows, radius: float) -> ClippedMean:
    """Returns the mean of `pieces` [size], each counting as far as `radius` from it.

    Gorbunov et al. 2022, section 3.1. It begins at the median of each value. Raises ValueError for no pieces
    or a radius that is not positive and finite.
    """
    if not len(pieces) or not 0.0 < radius < float("inf"):
        raise ValueError(f"{len(pieces)} pieces and a radius of {radius} make no clipped mean.")
    mean = medians(pieces)
    turns, moved = 0, float("inf")
    while turns < _MOST_TURNS and moved > _SETTLED * radius:
        turns += 1
        fractions = shares([clip_factor(length, radius) for length in distances(pieces, mean)])
        before, mean = mean, _weighted(pieces, fractions)
        moved = distance(mean, before)
    return ClippedMean(pieces, mean, turns)


def _weighted(pieces: Rows, fractions: Sequence[np.float32]) -> Vector:
    """Returns the sum of `pieces` [size] times their fractions [size]."""
    found: Vector = np.empty(len(pieces[0]), np.float32)
    count = max(1, _TOGETHER // len(pieces))
    for start in range(0, len(found), count):
        part = slice(start, start + count)
        mean = np.multiply(pieces[0][part], fractions[0], out=found[part])
        mean += np.float32(0.0)  # As in part_mean.py: no mean is -0.
        for piece, fraction in zip(pieces[1:], fractions[1:], strict=True):
            mean += piece[part] * fraction
    return found


def clip_factor(length: float, radius: float) -> float:
    """Returns what a difference of this length is multiplied by, so that it is at most `radius` long."""
    return min(1.0, radius / length) if length > 0.0 else 1.0


def distances(pieces: Rows, mean: Vector) -> list[float]:
    """Returns the distance of each of `pieces` [size] from `mean` [size], the same bits as `distance`."""
    count = _SHORT_TOGETHER // max(1, len(mean))
    if count < 2:
        return [distance(piece, mean) for piece in pieces]
    found = list[float]()
    for start in range(0, len(pieces), count):
        difference = (np.stack([*pieces[start : start + count]]) - mean).astype(np.float64)
        found += np.sqrt(lane_sums(difference * difference)).tolist()
    return found


def distance(one: Vector, other: Vector) -> float:
    """Returns the distance between two vectors [size]: float32 differences, squares added up by lanes."""
    return length_of(lane_differences(one, other))
