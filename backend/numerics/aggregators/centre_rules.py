"""Rules that look for the centre of all updates: geometric median, centered clipping.

Both move a point that stays a weighted sum of the updates, so each iteration works on the distances [n, n]
alone; only the last point is read from the updates themselves.
"""

from __future__ import annotations

import math

import numpy as np

from backend.numerics.aggregators.composition import Aggregator, minority
from backend.numerics.aggregators.distances import Distances
from backend.numerics.aggregators.update_set import UpdateRow, UpdateSet
from backend.numerics.vectors import Vector64

# The change of factors at which the geometric median stands still.
_STILL = 1e-12
_SMOOTHING, _ITERATIONS = 1e-6, 200


def geometric_median(
    smoothing: float = _SMOOTHING,
    iterations: int = _ITERATIONS,
    scale: float | None = None,
    start: UpdateRow | None = None,
) -> Aggregator:
    """The point with the least sum of weighted distances to all updates (RFA).

    Pillutla et al. 2022, algorithm 2. Smoothed Weiszfeld steps: each update weighs weight / max(smoothing x
    scale, distance). `scale` is the median distance from the start unless given; the start is the mean of the
    half nearest the medoid unless given, [size]. Tolerance: less than half of the weight. Sees single
    updates. Raises ValueError for parameters out of range.
    """
    _check_positive("smoothing", smoothing)
    _check_positive("scale", scale)
    _check_iterations(iterations)

    def rule(updates: UpdateSet) -> Vector64:
        rows, weights, factors = _begin(updates, start)
        distances = rows.distances
        usual = float(np.median(distances.of_point(factors)[: len(updates)])) if scale is None else scale
        if usual > 0.0:
            factors = _weiszfeld(distances, weights, factors, smoothing * usual, iterations)
        return rows.combine(factors)

    return Aggregator("geometric-median", rule, minority)


def centered_clip(
    radius: float | None = None, iterations: int = 10, start: UpdateRow | None = None
) -> Aggregator:
    """Mean of differences from a centre, each clipped to `radius`, added to the centre, some times over.

    Karimireddy et al. 2021, algorithm 2. The centre begins at `start` [size], which should be the last
    round's aggregate, or else at the medoid; the radius is the median distance from it unless given.
    Tolerance f < n / 2 with a start near the honest mean, such as the medoid. Sees single updates. Raises
    ValueError for parameters out of range.
    """
    _check_positive("radius", radius)
    _check_iterations(iterations)

    def rule(updates: UpdateSet) -> Vector64:
        rows, weights, factors = _begin(updates, start)
        distances, shares = rows.distances, weights / weights.sum()
        limit = radius
        for _ in range(iterations):
            away = distances.of_point(factors)
            if limit is None:
                limit = float(np.median(away[: len(updates)]))
            clipped = shares * np.divide(limit, away, out=np.ones_like(away), where=away > limit)
            factors = (1.0 - clipped.sum()) * factors + clipped
        return rows.combine(factors)

    return Aggregator("centered-clip", rule, minority)


def geometric_median_factors(updates: UpdateSet) -> Vector64:
    """Returns the factors [n], which add up to 1, of the updates' geometric median (see `geometric_median`).

    Raises ValueError for an update that is not finite.
    """
    _, weights, factors = _begin(updates, None)
    usual = float(np.median(updates.distances.of_point(factors)))
    if usual > 0.0:
        factors = _weiszfeld(updates.distances, weights, factors, _SMOOTHING * usual, _ITERATIONS)
    return factors


def _begin(updates: UpdateSet, start: UpdateRow | None) -> tuple[UpdateSet, Vector64, Vector64]:
    """Returns rows, their weights, and the factors of the first point: `start`, or near the medoid.

    A given start becomes the last row, without weight.
    """
    if start is not None:
        if tuple(start.shape) != (updates.size,):
            raise ValueError(
                f"The start has the shape {tuple(start.shape)}; updates have {updates.size} values."
            )
        rows = updates.with_row(start)
        factors = np.zeros(len(rows))
        factors[-1] = 1.0
        return rows, np.append(updates.weights, 0.0), factors
    squared, medoid = updates.distances.squared, updates.distances.medoid()
    among = np.argsort(squared[medoid], kind="stable")[: len(updates) // 2 + 1]
    factors = np.zeros(len(updates))
    factors[among] = 1.0 / len(among)
    return updates, updates.weights, factors


def _weiszfeld(
    distances: Distances, weights: Vector64, factors: Vector64, least: float, iterations: int
) -> Vector64:
    for _ in range(iterations):
        moved = weights / np.maximum(distances.of_point(factors), least)
        moved /= moved.sum()
        change = float(np.abs(moved - factors).max())
        factors = moved
        if change < _STILL:
            break
    return factors


def _check_positive(name: str, value: float | None) -> None:
    if value is not None and not (value > 0.0 and math.isfinite(value)):
        raise ValueError(f"The {name} of a robust mean is positive and finite, not {value}.")


def _check_iterations(iterations: int) -> None:
    if iterations < 1:
        raise ValueError(f"A robust mean takes at least one iteration, not {iterations}.")
