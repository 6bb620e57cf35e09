"""A rotation keeps norms, can be undone, and spreads every update below the stated bound."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.numerics.masking.bit_packing import Words
from backend.numerics.masking.rotation import (
    BOUND_FACTOR,
    clamped,
    rotate,
    rotate_back,
    sign_words,
    span,
    transform,
)

SIZES = [1, 2, 3, 31, 32, 33, 100, 4096, 5000, 65_536, 70_000, 131_072, 200_001]


def _signs(size: int, seed: int = 1) -> Words:
    return np.random.default_rng(seed).integers(0, 2**32, sign_words(size), dtype=np.uint32)


@given(st.integers(0, 7), st.integers(0, 2**32 - 1))
def test_the_transform_is_hadamards(power: int, seed: int) -> None:
    matrix = np.ones((1, 1))
    for _ in range(power):
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    values = np.random.default_rng(seed).standard_normal(2**power).astype(np.float32)
    expected = matrix @ values
    transform(values)
    assert values == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("size", SIZES)
def test_it_keeps_the_norm_and_can_be_undone(size: int) -> None:
    values = np.random.default_rng(size).standard_normal(size).astype(np.float32)
    rotated = rotate(values, _signs(size))
    assert np.linalg.norm(rotated) == pytest.approx(np.linalg.norm(values), rel=1e-5)
    assert rotate_back(rotated, _signs(size)) == pytest.approx(values, abs=1e-5)


@pytest.mark.parametrize("size", [1000, 5000, 70_000])
def test_the_largest_value_becomes_small_whatever_the_update(size: int) -> None:
    """A single value, the hardest case without a rotation, an even vector, and one with few large values."""
    single, even, few = np.zeros(size), np.ones(size), np.zeros(size)
    single[size - 1], few[:3] = 1.0, 1.0
    over = 0
    for vector in (single, even, few):
        values = (vector / np.linalg.norm(vector)).astype(np.float32)
        for seed in range(10):
            rotated = np.abs(rotate(values, _signs(size, seed)))
            over += int((rotated > BOUND_FACTOR / np.sqrt(span(size))).sum())
    assert over <= np.ceil(30 * clamped(size))


def test_signs_matter() -> None:
    values = np.ones(1000, np.float32)
    assert not np.array_equal(rotate(values, _signs(1000, 1)), rotate(values, _signs(1000, 2)))


def test_too_few_signs_are_refused() -> None:
    with pytest.raises(ValueError, match="random words"):
        rotate(np.ones(1000, np.float32), _signs(500))
