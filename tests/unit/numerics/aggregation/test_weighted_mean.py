from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from backend.numerics.aggregation.weighted_mean import WeightedMean
from backend.numerics.vectors import BLOCK_VALUES, Vector, Vector64, blocks

VALUES = st.floats(-1e6, 1e6, width=32)
WEIGHTS = st.integers(1, 10**9)


@st.composite
def updates(draw: st.DrawFn) -> list[tuple[Vector, int]]:
    size, count = draw(st.integers(1, 40)), draw(st.integers(1, 6))
    return [(draw(hnp.arrays(np.float32, size, elements=VALUES)), draw(WEIGHTS)) for _ in range(count)]


def mean_of(pairs: list[tuple[Vector, int]]) -> Vector64:
    mean = WeightedMean(len(pairs[0][0]))
    for update, weight in pairs:
        mean.add(update, weight)
    return mean.mean()


@given(updates())
def test_the_mean_is_the_weighted_mean(pairs: list[tuple[Vector, int]]) -> None:
    stacked = np.stack([update.astype(np.float64) for update, _ in pairs])
    expected = np.average(stacked, axis=0, weights=[weight for _, weight in pairs])
    np.testing.assert_allclose(mean_of(pairs), expected, rtol=1e-9, atol=1e-6)


@given(updates(), st.randoms(use_true_random=False))
def test_the_order_of_clients_does_not_show(pairs: list[tuple[Vector, int]], random: object) -> None:
    shuffled = pairs.copy()
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    np.testing.assert_allclose(mean_of(shuffled), mean_of(pairs), rtol=1e-9, atol=1e-6)


@given(updates(), st.integers(2, 100))
def test_only_the_ratio_of_weights_matters(pairs: list[tuple[Vector, int]], factor: int) -> None:
    scaled = [(update, weight * factor) for update, weight in pairs]
    np.testing.assert_allclose(mean_of(scaled), mean_of(pairs), rtol=1e-9, atol=1e-6)


@given(updates(), VALUES)
def test_moving_every_update_moves_the_mean(pairs: list[tuple[Vector, int]], by: float) -> None:
    moved = [((update.astype(np.float64) + by).astype(np.float32), weight) for update, weight in pairs]
    np.testing.assert_allclose(mean_of(moved), mean_of(pairs) + by, rtol=1e-6, atol=1.0)


@given(updates())
def test_updates_are_left_as_they_are(pairs: list[tuple[Vector, int]]) -> None:
    before = [update.copy() for update, _ in pairs]
    mean_of(pairs)
    assert all(np.array_equal(update, copy) for (update, _), copy in zip(pairs, before, strict=True))


def test_many_small_updates_are_not_lost_beside_a_large_one() -> None:
    large, small = np.full(3, 1e8, np.float32), np.full(3, 1e-3, np.float32)
    mean = WeightedMean(3)
    mean.add(large, 1)
    for _ in range(1000):
        mean.add(small, 1)
    np.testing.assert_allclose(mean.mean(), (1e8 + 1000 * float(np.float32(1e-3))) / 1001, rtol=1e-12)


def test_a_vector_of_several_blocks_is_summed_whole() -> None:
    size = 2 * BLOCK_VALUES + 17
    update = np.arange(size, dtype=np.float32)
    assert np.array_equal(mean_of([(update, 3), (update, 5)]), update.astype(np.float64))


@settings(max_examples=20)
@given(st.integers(0, 4 * BLOCK_VALUES))
def test_blocks_cover_every_value_once(size: int) -> None:
    parts = list(blocks(size))
    assert sum(part.stop - part.start for part in parts) == size
    assert all(one.stop == two.start for one, two in pairwise(parts))


@pytest.mark.parametrize(("size", "weight"), [(4, 1), (3, 0), (3, -1)])
def test_what_does_not_fit_raises_and_changes_nothing(size: int, weight: int) -> None:
    mean = WeightedMean(3)
    mean.add(np.ones(3, np.float32), 2)
    with pytest.raises(ValueError, match="cannot take"):
        mean.add(np.ones(size, np.float32), weight)
    assert (mean.weight, mean.count) == (2, 1)
    assert np.array_equal(mean.mean(), np.ones(3))


def test_there_is_no_mean_of_nothing() -> None:
    with pytest.raises(ValueError, match="at least one update"):
        WeightedMean(3).mean()
