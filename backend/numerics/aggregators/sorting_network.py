"""Sorts the columns of a block by a network of minima and maxima, or one by one where rows are many.

A network compares fixed pairs of rows (Batcher 1968; Knuth, The Art of Computer Programming 3, algorithm
5.2.2M), so that numpy does each comparison for a whole block at once. Comparisons that no wanted rank depends
on are left out: the median of 16 rows needs 90 minima and maxima instead of 126.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from backend.numerics.aggregators.update_set import Block

# Above so many rows, sorting the columns is faster.
NETWORK_ROWS = 32


@dataclass(frozen=True)
class _Comparison:
    """Puts the smaller of two rows at `low` and the larger at `high`, or only one of them."""

    low: int
    high: int
    smaller: bool
    larger: bool


def ranked(block: Block, spare: Block, first: int, last: int, ordered: bool) -> list[Block]:
    """Returns the values of each column with ranks `first` to `last` - 1, one array [columns] a rank.

    Overwrites `block` [rows, columns] and `spare` [columns]. With `ordered` false the ranks are in any order.
    """
    rows = len(block)
    if rows > NETWORK_ROWS:
        columns = np.ascontiguousarray(block.T)
        columns.sort(axis=1)
        return list(np.ascontiguousarray(columns[:, first:last].T))
    wires = list(block)
    for comparison in _network(rows, first, last, ordered):
        low, high = wires[comparison.low], wires[comparison.high]
        if not comparison.larger:
            np.minimum(low, high, out=low)
        elif not comparison.smaller:
            np.maximum(low, high, out=high)
        else:
            np.minimum(low, high, out=spare)
            np.maximum(low, high, out=high)
            wires[comparison.low], spare = spare, low
    return wires[first:last]


@lru_cache(maxsize=256)
def _network(rows: int, first: int, last: int, ordered: bool) -> tuple[_Comparison, ...]:
    """Returns the comparisons that the wanted ranks depend on.

    From the end: a comparison is needed unless both of its rows serve the same purpose, which is to be
    dropped, to be kept, or to be the inputs of one later comparison.
    """
    purpose: list[object] = ["dropped"] * rows
    for rank in range(first, last):
        purpose[rank] = rank if ordered else "kept"
    needed: list[_Comparison] = []
    for number, (low, high) in reversed(list(enumerate(_pairwise(rows)))):
        if purpose[low] == purpose[high]:
            continue
        needed.append(_Comparison(low, high, purpose[low] != "dropped", purpose[high] != "dropped"))
        purpose[low] = purpose[high] = ("inputs", number)
    return tuple(reversed(needed))


def _pairwise(rows: int) -> list[tuple[int, int]]:
    """Returns the pairs that the network compares, in order.

    It is the network of the next power of two, without rows above: first it sorts pairs, and the pairs by
    their larger rows, in halves of halves; then it merges neighbouring pairs.
    """
    width = 1 << (rows - 1).bit_length()
    pairs: list[tuple[int, int]] = []
    distance = 1
    while distance < width:
        pairs += [(row, row + distance) for row in range(width) if not row // distance % 2]
        distance *= 2
    step, reach = width // 4, 1
    while step:
        ahead = reach
        while ahead:
            upper = range((ahead + 1) * step, width)
            pairs += [(row - ahead * step, row) for row in upper if not (row // step - ahead - 1) % 2]
            ahead //= 2
        step, reach = step // 2, 2 * reach + 1
    return [(low, high) for low, high in pairs if high < rows]
