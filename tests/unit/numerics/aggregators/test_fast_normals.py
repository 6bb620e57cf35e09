"""Fast normal values are normal, independent, and the same for the same seed."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from backend.numerics.aggregators.fast_normals import NormalBlocks, fill_normals

Values = NDArray[np.float64]
BLOCK, BLOCKS = 1 << 15, 64


@pytest.fixture(scope="module")
def values() -> Values:
    normals = NormalBlocks([2026, 1], BLOCK)
    return np.stack([normals.next(BLOCK).astype(np.float64) for _ in range(BLOCKS)])


def test_values_are_distributed_as_a_standard_normal(
    values: Values,
) -> None:
    assert stats.kstest(values.ravel(), "norm").pvalue > 1e-3
    assert abs(values.mean()) < 4 / np.sqrt(values.size)
    assert abs(values.var() - 1.0) < 4 * np.sqrt(2 / values.size)
    assert abs(stats.kurtosis(values.ravel())) < 4 * np.sqrt(24 / values.size)


@pytest.mark.parametrize("beyond", [2.0, 3.0, 4.0])
def test_tails_are_as_heavy_as_a_normals(values: Values, beyond: float) -> None:
    for side in (values, -values):
        expected = values.size * float(stats.norm.sf(beyond))
        assert abs(np.count_nonzero(side > beyond) - expected) < 4 * np.sqrt(expected)


@pytest.mark.parametrize("lag", [1, 2, BLOCK // 2, BLOCK])
def test_values_and_their_squares_are_uncorrelated_at_any_distance(values: Values, lag: int) -> None:
    flat = values.ravel()
    for one in (flat, flat**2):
        assert abs(np.corrcoef(one[:-lag], one[lag:])[0, 1]) < 4 / np.sqrt(flat.size)


@pytest.mark.parametrize("count", [0, 1, 2, 7, 8])
def test_any_number_of_values_is_drawn_and_repeats_with_its_seed(count: int) -> None:
    first, again, other = (NormalBlocks(seed, 8).next(count).copy() for seed in ([5, 0], [5, 0], [5, 1]))
    assert first.shape == (count,)
    assert first.dtype == np.float32
    np.testing.assert_array_equal(first, again)
    assert not count or not np.array_equal(first, other)


def test_the_smallest_and_the_largest_word_make_finite_values() -> None:
    words = np.array([0, 2**32 - 1, 0, 2**31, 2**31 - 1, 2**32 - 1], np.uint32)
    found = np.empty(6, np.float32)
    fill_normals(words, np.empty(3, np.float32), np.empty(3, np.float32), found)
    assert np.isfinite(found).all()
    assert abs(found).max() == pytest.approx(6.76, abs=0.01)
