"""The clipped mean of a part (ButterflyClip), which no minority of its pieces can move far.

It is the fixed point of CenteredClip (Karimireddy et al. 2021, algorithm 2), found as a weighted mean whose
weights are made again from the distances to it: a few turns where the paper's steps take hundreds. The twin
is webapp/static/src/core/numerics/butterfly/clipped-mean.ts; tests/contract/vectors/butterfly.json binds
their bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from backend.numerics.aggregation.part_mean import shares, weighted_mean
from backend.numerics.butterfly.lane_sums import lane_differences, lane_sums, length_of
from backend.numerics.butterfly.medians import medians
from backend.numerics.vectors import Vector

# It ends when a turn moves the mean by no more than this, in radii, or after so many turns.
_SETTLED, _MOST_TURNS = 1e-6, 100
# So many values of pieces are computed together, which stay in a core's cache.
_TOGETHER = 1 << 16


@dataclass(frozen=True)
class ClippedMean:
    """The `mean` [size] of the pieces of a part, after so many `turns`, and their `lengths`.

    A length is a piece's distance from the mean.
    """

    mean: Vector
    lengths: list[float]
    turns: int


def clipped_mean(pieces: Vector, radius: float) -> ClippedMean:
    """Returns the mean of `pieces` [n, size], each counting as far as `radius` from it.

    Gorbunov et al. 2022, section 3.1. It begins at the median of each value. Raises ValueError for no pieces
    or a radius that is not positive and finite.
    """
    if not len(pieces) or not 0.0 < radius < float("inf"):
        raise ValueError(f"{len(pieces)} pieces and a radius of {radius} make no clipped mean.")
    mean = medians(pieces)
    lengths = distances(pieces, mean)
    turns, moved = 0, float("inf")
    while turns < _MOST_TURNS and moved > _SETTLED * radius:
        turns += 1
        fractions = shares([clip_factor(length, radius) for length in lengths])
        before, mean = mean, _weighted(pieces, fractions)
        lengths = distances(pieces, mean)
        moved = distance(mean, before)
    return ClippedMean(mean, lengths, turns)


def _weighted(pieces: Vector, fractions: Sequence[np.float32]) -> Vector:
    """Returns the sum of `pieces` [n, size] times their fractions [size]."""
    found: Vector = np.empty(pieces.shape[1], np.float32)
    count = max(1, _TOGETHER // len(pieces))
    for start in range(0, len(found), count):
        part = slice(start, start + count)
        found[part] = weighted_mean(pieces[:, part].copy(), fractions)
    return found


def clip_factor(length: float, radius: float) -> float:
    """Returns what a difference of this length is multiplied by, so that it is at most `radius` long."""
    return min(1.0, radius / length) if length > 0.0 else 1.0


def distances(pieces: Vector, mean: Vector) -> list[float]:
    """Returns the distance of each of `pieces` [n, size] from `mean` [size], the same bits as `distance`."""
    count = _TOGETHER // max(1, len(mean))
    if count < 2:
        return [distance(piece, mean) for piece in pieces]
    found = list[float]()
    for start in range(0, len(pieces), count):
        difference = (pieces[start : start + count] - mean).astype(np.float64)
        found += np.sqrt(lane_sums(difference * difference)).tolist()
    return found


def distance(one: Vector, other: Vector) -> float:
    """Returns the distance between two vectors [size]: float32 differences, squares added up by lanes."""
    return length_of(lane_differences(one, other))
