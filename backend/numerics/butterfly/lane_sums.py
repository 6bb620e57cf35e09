"""Sums of float64 in one fixed order, fast in numpy and the same bits in both languages.

The twin is webapp/static/src/core/numerics/butterfly/lane-sums.ts.
"""

from __future__ import annotations

import numpy as np

from backend.numerics.vectors import Vector, Vector64

LANES = 1024


def lanes(values: Vector | Vector64) -> Vector64:
    """Returns `values` [n] as float64 in rows of lanes [rows, LANES], the last row filled with zeros."""
    rows = -(-len(values) // LANES)
    filled = np.zeros(rows * LANES)
    filled[: len(values)] = values
    return filled.reshape(rows, LANES)


def lane_differences(one: Vector, other: Vector) -> Vector64:
    """Returns the float32 differences of two vectors [n] in rows of lanes [rows, LANES]."""
    return lanes(one - other)


def length_of(rows: Vector64) -> float:
    """Returns the root of the sum of the squares of `rows` [rows, LANES], added up as in `lane_sums`."""
    return float(np.sqrt(in_order((rows * rows).sum(axis=0))))


def lane_sums(values: Vector64) -> list[float]:
    """Returns the sum of each of `values` [k, n].

    Rows of lanes are added up lane by lane, in order, then the lanes in order.
    """
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
