"""Random projections of pieces, by which the owner of a part proves its mean without showing pieces.

Gorbunov et al. 2022, section 3.2: differences from a clipped mean, cut to the radius, add up to zero, so
their products with a random vector do. The vector is an outer product of two short ones, one value for each
lane and one for each row, so that it costs next to nothing to draw. The twin is
webapp/static/src/core/numerics/butterfly/projection.ts.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from backend.numerics import philox
from backend.numerics.butterfly.clipped_mean import clip_factor
from backend.numerics.butterfly.lane_sums import LANES, added, in_order, lane_differences
from backend.numerics.vectors import Vector, Vector64

# Short draws take as long one by one as so many at once.
_DRAWN_TOGETHER = 8


def projection_product(piece: Vector, mean: Vector, radius: float, coin: int, part: int) -> float:
    """Returns the product of a piece's clipped difference from the mean with the random vector of `part`."""
    return product_and_length(piece, mean, radius, coin, part)[0]


def product_and_length(
    piece: Vector, mean: Vector, radius: float, coin: int, part: int
) -> tuple[float, float]:
    """Returns the product, and the distance of the piece from the mean.

    `piece` and `mean` are [size]; `coin`, below 2**53, is what the members tossed after all means were
    committed to. Each value of the vector is the product of two that are uniform in [-1, 1).
    """
    by_lane, by_row = _vectors(coin, part, -(-len(mean) // LANES))
    squares = total = None
    first, scratch = 0, None
    for rows in lane_differences(piece, mean):
        scratch = np.multiply(rows, rows, out=None if scratch is None else scratch[: len(rows)])
        squares = added(squares, scratch)
        rows *= by_row[first : first + len(rows), None]
        first, total = first + len(rows), added(total, rows)
    if squares is None or total is None:
        return 0.0, 0.0
    length = float(np.sqrt(in_order(squares)))
    return in_order(total * by_lane) * clip_factor(length, radius), length


def _vectors(coin: int, part: int, rows: int) -> tuple[Vector64, Vector64]:
    """Returns the random values of the lanes [LANES] and of the rows [rows] of `part`."""
    both = _values_of_parts(coin, part // _DRAWN_TOGETHER, rows)[part % _DRAWN_TOGETHER]
    return both[:LANES], both[LANES:]


# A member needs those of all parts, and those of its own for each piece of it.
@lru_cache(maxsize=16)
def _values_of_parts(coin: int, group: int, rows: int) -> Vector64:
    """Returns the random values [_DRAWN_TOGETHER, LANES + rows] of a group of parts."""
    parts = range(group * _DRAWN_TOGETHER, (group + 1) * _DRAWN_TOGETHER)
    unit = philox.uniform_of_steps(coin, parts, 0, LANES + rows).astype(np.float64)
    values: Vector64 = 2.0 * unit - 1.0
    return values
