"""The medians of a sorting network are those of numpy."""

from __future__ import annotations

import numpy as np
import pytest

from backend.numerics.butterfly.medians import medians


@pytest.mark.parametrize("count", range(1, 34))
def test_medians_are_those_of_numpy(count: int) -> None:
    random = np.random.default_rng(count)
    rows = random.normal(size=(count, 9000)).astype(np.float32)
    # Equal values, and the largest and smallest ones.
    rows[:, :4000] = random.integers(-3, 3, (count, 4000))
    rows[:, 4000:4004] *= np.float32(1e-42)
    rows[0, 4004:4010] = np.finfo(np.float32).max
    expected = np.median(rows, axis=0).astype(np.float32)
    assert np.array_equal(medians(rows), expected)
    # It leaves what it was given as it is.
    assert np.array_equal(np.median(rows, axis=0), expected)


def test_of_every_order_of_zeros_and_ones_the_middle_is_right() -> None:
    """A network that sorts these sorts everything."""
    for count in range(1, 13):
        numbers = np.arange(1 << count)
        rows = np.stack([(numbers >> place) & 1 for place in range(count)]).astype(np.float32)
        assert np.array_equal(medians(rows), np.median(rows, axis=0))
