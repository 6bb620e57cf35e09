"""The lab's masked groups: their means are those of the clipped updates, and liars send what they like."""

from __future__ import annotations

import numpy as np
import pytest

from backend.lab.robustness.masked_sums import group_means
from backend.numerics.vectors import Vector

RANDOM = np.random.default_rng(3)
UPDATES: list[tuple[Vector, int]] = [(RANDOM.normal(size=20).astype(np.float32) / 10, 8) for _ in range(9)]


def seeded() -> np.random.Generator:
    return np.random.default_rng(1)


def test_each_client_is_in_the_mean_of_one_group() -> None:
    found = group_means(UPDATES, (), 3, 10.0, seeded())
    order = seeded().permutation(9)
    expected = [np.mean([UPDATES[one][0] for one in order[first::3]], axis=0) for first in range(3)]
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_honest_clients_clip_and_liars_do_not() -> None:
    long = [(np.full(4, 3.0, np.float32), 8)] * 2
    (honest,) = group_means(long, (), 1, 1.0, seeded())
    (lied,) = group_means(long, (0, 1), 1, 1.0, seeded())
    assert np.linalg.norm(honest) == pytest.approx(1.0, abs=1e-5)
    # 2^31 / 2 levels for two members: 3.0 each is beyond the modulus, and wraps.
    assert np.abs(lied).max() <= 2.0


def test_a_value_that_is_not_finite_is_not_sent() -> None:
    broken = [(np.full(4, np.nan, np.float32), 8), (np.full(4, 0.5, np.float32), 8)]
    (mean,) = group_means(broken, (0,), 1, 5.0, seeded())
    np.testing.assert_allclose(mean, 0.5, atol=1e-6)
    assert group_means(broken[:1], (0,), 1, 5.0, seeded()) == []
