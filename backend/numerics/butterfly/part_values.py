"""What members compute of the bytes of pieces and means: the same for all, whatever a liar sent.

The twin is webapp/static/src/core/numerics/butterfly/part-values.ts; tests/contract/vectors/butterfly.json
binds their bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import numpy as np

from backend.numerics.butterfly.clipped_mean import clipped_mean, distances
from backend.numerics.butterfly.medians import medians
from backend.numerics.butterfly.projection import product_and_length
from backend.numerics.vectors import Vector


def part_values(content: bytes | memoryview, size: int) -> Vector:
    """Returns the values [size] of a piece or mean, little-endian float32.

    Bytes of another length, or with NaN or infinity, count as zeros: they are wrong work, and everybody must
    compute the same with them.
    """
    if len(content) != 4 * size:
        return np.zeros(size, np.float32)
    values: Vector = np.frombuffer(content, "<f4").astype(np.float32, copy=False)
    return values if bool(np.isfinite(values).all()) else np.zeros(size, np.float32)


def mean_of_part(pieces: Sequence[Vector], radius: float) -> Vector:
    """Returns the clipped mean [size] of pieces [size].

    With `radius` 0, before the first was measured, it is the median of the pieces' distances from the median
    of each value, or 1 where that is 0.
    """
    return clipped_mean(pieces, radius or _own_radius(pieces)).mean


def part_numbers(
    pieces: Sequence[Vector], mean: Vector, radius: float, coin: int, part: int
) -> tuple[list[float], list[float]]:
    """Returns each piece's product with the random vector of `part`, and its distance from the mean.

    `coin` is below 2**53. Before the first radius was measured (`radius` 0), products are of whole
    differences up to length 1.
    """
    found = [product_and_length(piece, mean, radius or 1.0, coin, part) for piece in pieces]
    return [product for product, _ in found], [length for _, length in found]


def _own_radius(pieces: Sequence[Vector]) -> float:
    return median(distances(pieces, medians(pieces))) or 1.0
