"""Ranks of a block are those of a full sort, whichever ranks are wanted."""

from __future__ import annotations

import numpy as np
import pytest

from backend.numerics.aggregators.sorting_network import NETWORK_ROWS, ranked
from backend.numerics.aggregators.update_set import Block


@pytest.mark.parametrize("rows", [*range(1, 20), NETWORK_ROWS, NETWORK_ROWS + 1, 50])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_rank_is_that_of_a_full_sort(rows: int, dtype: type) -> None:
    random = np.random.default_rng(rows)
    block: Block = random.integers(-4, 5, (rows, 700)).astype(dtype)  # Many ties.
    expected = np.sort(block, axis=0)
    for first, last in {(0, rows), (0, 1), (rows - 1, rows), ((rows - 1) // 2, rows // 2 + 1)}:
        found = ranked(block.copy(), np.empty(700, dtype), first, last, ordered=True)
        np.testing.assert_array_equal(np.stack(found), expected[first:last])


@pytest.mark.parametrize("rows", [2, 7, 10, 16, 31, 40])
def test_ranks_in_any_order_are_the_same_values(rows: int) -> None:
    block = np.random.default_rng(rows).standard_normal((rows, 300)).astype(np.float32)
    for cut in range((rows - 1) // 2 + 1):
        found = ranked(block.copy(), np.empty(300, np.float32), cut, rows - cut, ordered=False)
        np.testing.assert_array_equal(np.sort(found, axis=0), np.sort(block, axis=0)[cut : rows - cut])
