"""Distances between updates, from the Gram matrix of their blocks.

|x - y|² = <x, x> + <y, y> - 2 <x, y> needs one matrix product instead of n² passes, but cancels where the
updates have much in common: float32 distances between weights are wrong by several times their size, and
attackers that a rule should drop get chosen. So blocks are multiplied in the updates' type and added up in
float64, which has about 7 digits; if that is too few for typical distances, the rows are centred on one of
them, in float64.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from backend.numerics.aggregators.column_blocks import block_columns, blocks_within, map_columns
from backend.numerics.vectors import Vector64

if TYPE_CHECKING:
    from backend.numerics.aggregators.update_set import UpdateSet

# [rows, rows] or [mixed rows, rows].
Matrix: TypeAlias = NDArray[np.float64]
# A squared distance has all its digits but those of its share of the squared norms: these shares leave 5
# digits of float32 and 9 of float64.
_LEAST_SHARE = {np.dtype(np.float32): 1e-2, np.dtype(np.float64): 1e-6}
# Honest updates are a majority, so they make a quarter of all pairs; if theirs are too close, this quantile
# is.
_QUANTILE = 0.2
# The ratio of squared norms above which float32 is too coarse for points between the updates.
_WIDEST_RATIO = 1e4
# How often the centre may change: each is nearer to the majority than the one before.
_CENTRES = 3


@dataclass(frozen=True)
class Distances:
    """Between n rows: `squared` distances, `inner` products, and those `centred` on some point, [n, n].

    The point is near the majority, so that its products are as exact as that majority's distances.
    """

    squared: Matrix
    inner: Matrix
    centred: Matrix

    @property
    def norms(self) -> Vector64:
        """The rows' L2 norms, [n]."""
        norms: Vector64 = np.sqrt(np.maximum(np.diag(self.inner), 0.0))
        return norms

    def of_point(self, factors: Vector64) -> Vector64:
        """Returns the rows' distances [n] from the sum of rows times `factors` [n], which add up to 1."""
        towards = self.centred @ factors
        squares = np.diag(self.centred) - 2.0 * towards + factors @ towards
        distances: Vector64 = np.sqrt(np.maximum(squares, 0.0))
        return distances

    def medoid(self) -> int:
        """Returns the row in the centre of the smallest ball that holds more than half of the rows.

        Its radius is at most the diameter of an honest majority, so even a false medoid is near that
        majority.
        """
        return _medoid(self.squared)


def measured(updates: UpdateSet) -> Distances:
    """Reads all updates once, or again where that was not exact enough.

    Raises ValueError if an update is not finite, or so large that float64 cannot hold its square.
    """
    dtype = updates.dtype
    inner = _products(updates, dtype, None)
    if not np.isfinite(inner).all():
        updates.refuse_not_finite()
        dtype = np.dtype(np.float64)
        inner = _products(updates, dtype, None)
        if not np.isfinite(inner).all():
            raise ValueError(
                "An update is too large: the square of its norm is beyond float64. Leave it out."
            )
    squared = _squared(inner)
    centred, centre = inner, -1
    for _ in range(_CENTRES):
        medoid = _medoid(squared)
        if _exact_enough(centred, squared, dtype) or medoid == centre:
            break
        dtype, centre = np.dtype(np.float64), medoid
        centred = _products(updates, dtype, centre)
        squared = _squared(centred)
    return Distances(squared, inner, centred)


def measured_norms(updates: UpdateSet) -> Vector64:
    """Returns the L2 norms of all rows, [n], cheaper than distances. Raises ValueError like `measured`."""

    def of_columns(columns: slice) -> Vector64:
        reader, total = updates.reader(), np.zeros(len(updates))
        with np.errstate(all="ignore"):
            for part in blocks_within(columns, block_columns(len(updates))):
                total += [float(np.dot(row, row)) for row in reader.view(part)]
        return total

    squares = np.zeros(len(updates))
    for part in map_columns(updates.size, of_columns):
        squares += part
    return np.sqrt(squares) if np.isfinite(squares).all() else measured(updates).norms


def derived(source: Distances, mixing: Matrix) -> Distances | None:
    """Returns the distances of mixing @ source without reading rows; None if too few digits remain."""
    inner = mixing @ source.inner @ mixing.T
    if np.allclose(mixing.sum(axis=1), 1.0, rtol=0.0, atol=1e-12):  # Distances follow from distances.
        centred = mixing @ source.centred @ mixing.T
        return Distances(_squared(centred), inner, centred)
    squared = _squared(inner)
    if _exact_enough(inner, squared, np.dtype(np.float32)):
        return Distances(squared, inner, inner)
    return None


def _products(updates: UpdateSet, dtype: np.dtype[Any], centre: int | None) -> Matrix:
    """Returns the inner products of all rows, minus row `centre`, float64 [n, n]."""
    count = len(updates)
    plain = centre is None and dtype == updates.dtype

    def of_columns(columns: slice) -> Matrix:
        reader, total = updates.reader(), np.zeros((count, count))
        width = block_columns(count)
        scratch: NDArray[Any] = np.empty(0 if plain else (count, width), dtype)
        with np.errstate(all="ignore"):
            for part in blocks_within(columns, width):
                block = reader.view(part)
                if not plain:
                    wide = scratch[:, : part.stop - part.start]
                    wide[...] = block
                    if centre is not None:
                        wide -= wide[centre].copy()
                    block = wide
                total += block @ block.T
        return total

    total = np.zeros((count, count))
    for part in map_columns(updates.size, of_columns):
        total += part
    return total


def _squared(inner: Matrix) -> Matrix:
    """Returns squared distances, tidied of rounding: symmetric, not negative, 0 from a row to itself."""
    squares = np.diag(inner)
    squared = np.maximum(squares[:, None] + squares - (inner + inner.T), 0.0)
    np.fill_diagonal(squared, 0.0)
    return squared


def _medoid(squared: Matrix) -> int:
    radii = np.sort(squared, axis=1)[:, len(squared) // 2]
    return int(np.lexsort((squared.sum(axis=1), radii))[0])


def _exact_enough(inner: Matrix, squared: Matrix, dtype: np.dtype[Any]) -> bool:
    count = len(inner)
    if count < 2:
        return True
    squares = np.diag(inner)
    if dtype == np.float32 and squares.max() > _WIDEST_RATIO * np.median(squares):
        return False
    pairs = np.triu_indices(count, 1)
    both = (squares[:, None] + squares)[pairs]
    shares = np.divide(squared[pairs], both, out=np.ones_like(both), where=both > 0.0)
    return bool(np.quantile(shares, _QUANTILE) >= _LEAST_SHARE[dtype])
