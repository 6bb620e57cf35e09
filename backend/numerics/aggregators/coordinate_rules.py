"""Rules that look at each coordinate for itself: median, trimmed mean, mean around the median."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from backend.numerics.aggregators.column_blocks import block_columns, blocks_within, map_columns
from backend.numerics.aggregators.composition import Aggregator, checked_f, minority
from backend.numerics.aggregators.sorting_network import ranked
from backend.numerics.aggregators.update_set import Block, UpdateSet
from backend.numerics.vectors import Vector64

# So many values are added up in float32, their sums in float64.
_SUMMED = 16


def median() -> Aggregator:
    """Median of each coordinate; of an even number the mean of two (Yin et al. 2018, definition 1).

    Tolerance f < n / 2. Sees single updates; ignores weights.
    """
    return Aggregator("median", lambda updates: _middle(updates, minority(len(updates))), minority)


def trimmed_mean(f: int) -> Aggregator:
    """Mean of each coordinate without its f lowest and f highest values (Yin et al. 2018, definition 2).

    Tolerance f < n / 2. Sees single updates; ignores weights. Raises ValueError for an f that is no count.
    """
    checked_f(f)
    return Aggregator("trimmed-mean", lambda updates: _middle(updates, f), minority, f, trimmed_mean)


def meamed(f: int) -> Aggregator:
    """Mean around median: the mean of the n - f values of each coordinate nearest its median.

    Xie et al. 2018, section 4. Tolerance f < n / 2. Sees single updates; ignores weights. Raises ValueError
    for an f that is no count.
    """
    checked_f(f)
    return Aggregator("meamed", lambda updates: mean_around_median(updates, f), minority, f, meamed)


def mean_around_median(updates: UpdateSet, dropped: int) -> Vector64:
    """Returns the mean [size] of each coordinate without the `dropped` values farthest from its median.

    Values nearest the median are neighbours in order, so the mean is that of the best of `dropped` + 1
    windows; where two are equally good, it takes the one of lower values.
    """
    count = len(updates)
    if not dropped:
        return _middle(updates, 0)

    def reduce(rows: list[Block], _spare: Block, total: Vector64) -> None:
        width = count - dropped
        middle = (rows[(count - 1) // 2] / 2 + rows[count // 2] / 2).astype(rows[0].dtype)
        nearest = np.full(len(middle), np.inf, middle.dtype)
        core = _sum64(rows[dropped:width], len(middle))
        for start in range(dropped + 1):
            spread = np.maximum(middle - rows[start], rows[start + width - 1] - middle)
            # All windows share the rows in the core; rows outside of a window, huge perhaps, take no part in
            # it.
            outer = rows[start:dropped] + rows[width : start + width]
            window = (
                core + _sum64(outer, len(middle))
                if dropped < width
                else _sum64(rows[start : start + width], len(middle))
            )
            better = spread < nearest
            np.copyto(nearest, spread, where=better)
            np.copyto(total, window, where=better)
        total /= width

    return _by_columns(updates, 0, count, True, reduce)


def _middle(updates: UpdateSet, trimmed: int) -> Vector64:
    count = len(updates)
    return _by_columns(updates, trimmed, count - trimmed, False, _mean)


def _by_columns(
    updates: UpdateSet,
    first: int,
    last: int,
    ordered: bool,
    reduce: Callable[[list[Block], Block, Vector64], None],
) -> Vector64:
    """Returns what `reduce(ranked values, spare, out)` makes of each block.

    Raises ValueError for an update that is not finite.
    """
    count, width = len(updates), block_columns(len(updates))
    total = np.empty(updates.size)

    def of_columns(columns: slice) -> bool:
        reader, memory = updates.reader(), np.empty((count + 2, width), updates.dtype)
        for part in blocks_within(columns, width):
            block = memory[:, : part.stop - part.start]
            with np.errstate(invalid="ignore", over="ignore"):  # Mixing infinite values.
                reader.read(part, block[:count])
            if not _finite(block[:count]):
                return False
            reduce(ranked(block[:count], block[count], first, last, ordered), block[count + 1], total[part])
        return True

    with_finite = map_columns(updates.size, of_columns)
    if not all(with_finite):
        updates.refuse_not_finite()
        raise ValueError("The sum of updates is beyond what their type can hold. Clip them first.")
    return total


def _finite(block: Block) -> bool:
    """Whether no value is NaN or infinite. A dot product is the fastest test, but large values overflow."""
    with np.errstate(all="ignore"):
        if block.flags.c_contiguous and np.isfinite(np.dot(block.ravel(), block.ravel())):
            return True
    return bool(np.isfinite(block).all())


def _mean(rows: list[Block], spare: Block, total: Vector64) -> None:
    """Writes the mean of `rows` to `total`."""
    with np.errstate(over="ignore"):
        for start in range(0, len(rows), _SUMMED):
            first, *others = rows[start : start + _SUMMED]
            partial = first
            for row in others:
                partial = np.add(partial, row, out=spare)
            if start:
                total += partial
            elif len(rows) <= _SUMMED:
                np.multiply(partial, 1.0 / len(rows), out=total, dtype=np.float64)
                return
            else:
                total[...] = partial
        total /= len(rows)


def _sum64(rows: list[Block], columns: int) -> Vector64:
    total = np.zeros(columns)
    for row in rows:
        total += row
    return total
