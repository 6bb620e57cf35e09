"""Sums of float64 in one fixed order, fast in numpy and the same bits in both languages.

The twin is webapp/static/src/core/numerics/butterfly/lane-sums.ts.
"""

from __future__ import annotations

import numpy as np

from backend.numerics.vectors import Vector64

LANES = 1024


def lanes(values: Vector64) -> Vector64:
    """Returns `values` [n] in rows of lanes [rows, LANES], the last row filled with zeros."""
    rows = -(-len(values) // LANES)
    filled = np.zeros(rows * LANES)
    filled[: len(values)] = values
    return filled.reshape(rows, LANES)


def lane_sum(values: Vector64) -> float:
    """Returns the sum of `values` [n]: rows are added up lane by lane, in order, then the lanes in order."""
    return in_order(lanes(values).sum(axis=0))


def lane_sums(values: Vector64) -> list[float]:
    """Returns the `lane_sum` of each of `values` [k, n], with fewer calls of numpy."""
    rows = -(-values.shape[1] // LANES)
    if rows < 2:
        # Lanes without a value would add zeros.
        return [in_order(row) for row in values]
    filled = np.zeros((len(values), rows * LANES))
    filled[:, : values.shape[1]] = values
    by_lane = filled.reshape(len(values), rows, LANES).sum(axis=1)
    return [float(total) for total in np.add.accumulate(by_lane, axis=1)[:, -1]]


def in_order(values: Vector64) -> float:
    """Returns the sum of `values` [n], added up one after another."""
    # A plain sum adds up pairs of halves.
    return float(np.add.accumulate(values)[-1]) if len(values) else 0.0
