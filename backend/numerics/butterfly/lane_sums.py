"""Sums of float64 in one fixed order, fast in numpy and the same bits in both languages.

The twin is webapp/static/src/core/numerics/butterfly/lane-sums.ts.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from backend.numerics.vectors import Vector, Vector64

LANES = 1024
# So many rows at a time stay in a core's cache.
_TOGETHER = 32


def lane_differences(one: Vector, other: Vector) -> Iterator[Vector64]:
    """Yields the float32 differences of two vectors [n] in rows of lanes [rows, LANES], some at a time.

    The last row is filled with zeros. The next rows overwrite these.
    """
    filled = np.empty(LANES * min(_TOGETHER, max(1, -(-len(one) // LANES))))
    for start in range(0, len(one), len(filled)):
        found = one[start : start + len(filled)] - other[start : start + len(filled)]
        filled[: len(found)] = found
        rows = -(-len(found) // LANES)
        filled[len(found) : rows * LANES] = 0.0
        yield filled[: rows * LANES].reshape(rows, LANES)


def added(total: Vector64 | None, rows: Vector64) -> Vector64:
    """Returns `rows` [rows, LANES], added to the `total` [LANES] of rows before. Overwrites the first one."""
    if total is not None:
        rows[0] += total
    found: Vector64 = rows.sum(axis=0)
    return found


def length_of(differences: Iterator[Vector64]) -> float:
    """Returns the root of the sum of the squares of rows, added up as in `lane_sums`. Overwrites them."""
    total = None
    for rows in differences:
        total = added(total, np.multiply(rows, rows, out=rows))
    return 0.0 if total is None else float(np.sqrt(in_order(total)))


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
