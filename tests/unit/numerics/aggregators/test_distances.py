"""Distances keep their digits where the updates have much in common, or one is huge."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from backend.numerics.aggregators.selection_rules import krum
from backend.numerics.aggregators.update_set import UpdateSet
from backend.numerics.vectors import Vector


def plain(updates: NDArray[Any]) -> NDArray[np.float64]:
    """Squared distances, the slow way."""
    wide = updates.astype(np.float64)
    return np.array([[np.dot(x - y, x - y) for y in wide] for x in wide])


def random_updates(count: int, size: int, scale: float = 1.0) -> Vector:
    random = np.random.default_rng(count + size)
    return (scale * random.standard_normal((count, size))).astype(np.float32)


@pytest.mark.parametrize("common", [0.0, 0.3, 1e3])
@pytest.mark.parametrize("count", [2, 5, 40])
def test_what_the_updates_have_in_common_does_not_blur_them(common: float, count: int) -> None:
    updates = random_updates(count, 3000, 1e-3) + np.float32(common)
    found = UpdateSet(updates).distances.squared
    np.testing.assert_allclose(found, plain(updates), rtol=2e-5)


@pytest.mark.parametrize("huge", [1e6, 1e20, 3e38])
def test_a_huge_update_does_not_blur_the_others(huge: float) -> None:
    updates = random_updates(9, 2000)
    updates[3] = huge
    others = [number for number in range(9) if number != 3]
    found = UpdateSet(updates).distances.squared
    np.testing.assert_allclose(found[np.ix_(others, others)], plain(updates[others]), rtol=2e-5)
    np.testing.assert_allclose(found[3, others], 2000 * np.float64(np.float32(huge)) ** 2, rtol=1e-2)


def test_krum_takes_distances_that_float32_cannot_resolve() -> None:
    # Updates of weights instead of deltas: float32 distances of such vectors are wrong by several times.
    random = np.random.default_rng(1)
    weights = random.standard_normal(20_000)
    updates = (weights + 3e-5 * random.standard_normal((10, 20_000))).astype(np.float32)
    updates[:3] += (1e-4 * random.standard_normal((3, 20_000))).astype(np.float32)
    distances = plain(updates)
    scores = np.sort(distances, axis=1)[:, 1:6].sum(axis=1)
    np.testing.assert_array_equal(krum(3)(updates), updates[int(scores.argmin())])


def test_a_clipped_set_of_almost_parallel_updates_is_measured_again() -> None:
    direction = random_updates(1, 500)[0]
    updates = np.outer(np.arange(1, 9), direction).astype(np.float32) + random_updates(8, 500, 1e-5)
    rows = UpdateSet(updates)
    unit = rows.mixed(np.diag(1.0 / rows.norms), rows.weights)
    expected = plain(updates.astype(np.float64) / np.linalg.norm(updates.astype(np.float64), axis=1)[:, None])
    np.testing.assert_allclose(unit.distances.squared, expected, rtol=0.02, atol=1e-13)


def test_squares_beyond_float64_are_refused() -> None:
    updates = np.ones((3, 4))
    updates[1] = 1e200
    with pytest.raises(ValueError, match="beyond float64"):
        krum(0)(updates)
