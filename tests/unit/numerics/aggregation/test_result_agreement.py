"""Which results of the same work are the same."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.numerics.aggregation.result_agreement import (
    Agreement,
    Likeness,
    Tolerance,
    agreement,
    likeness,
    majority,
    shortest_compared,
)

SAME, DOUBTFUL, OTHER = Agreement.SAME, Agreement.DOUBTFUL, Agreement.OTHER
NEAR = Tolerance(distance=0.01, cosine=0.999, blame=0.3)


def vector(size: int, seed: int) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    return np.random.default_rng(seed).normal(0, 0.1, size).astype(np.float32)


@given(st.integers(1, 70_000), st.integers(0, 99), st.floats(0.0, 3.0))
def test_distance_is_by_the_longer_and_does_not_mind_the_order(size: int, seed: int, scale: float) -> None:
    one = vector(size, seed)
    other = (one * np.float32(scale)).astype(np.float32)
    found = likeness(one, other)
    assert found.distance == pytest.approx(abs(1 - scale) / max(1, scale), abs=1e-5)
    assert found.cosine == pytest.approx(1.0 if scale > 1e-30 else 0.0, abs=1e-5)
    assert likeness(other, one).distance == pytest.approx(found.distance, abs=1e-12)


def test_likeness_is_that_of_whole_vectors_in_float64() -> None:
    one, other = vector(150_001, 1), vector(150_001, 2)
    found = likeness(one, other)
    a, b = one.astype(np.float64), other.astype(np.float64)
    longest = max(np.linalg.norm(a), np.linalg.norm(b))
    assert found.distance == pytest.approx(float(np.linalg.norm(a - b) / longest), rel=1e-12)
    assert found.cosine == pytest.approx(float(a @ b / np.linalg.norm(a) / np.linalg.norm(b)), rel=1e-9)


def test_zeros_are_like_zeros_only_and_no_number_is_like_nothing() -> None:
    zeros = np.zeros(4, np.float32)
    assert likeness(zeros, zeros) == Likeness(0.0, 1.0)
    assert likeness(zeros, vector(4, 1)) == Likeness(1.0, 0.0)
    for wrong in (np.nan, np.inf):
        bad = np.full(4, wrong, np.float32)
        assert likeness(bad, bad) == Likeness(math.inf, -1.0)
    with pytest.raises(ValueError, match="different models"):
        likeness(zeros, np.zeros(5, np.float32))


def test_updates_that_rounding_of_weights_moves_are_the_same() -> None:
    """Else an honest member would be accused of other work once the training has converged."""
    weights, update = vector(5_000, 1), np.float32(5e-8) * vector(5_000, 2)
    moved = (weights + update) - weights
    shortest = shortest_compared(weights, 1, NEAR)
    assert agreement(likeness(update, moved), NEAR) is OTHER
    assert agreement(likeness(update, moved, shortest), NEAR) is SAME
    assert agreement(likeness(weights, -weights, shortest), NEAR) is OTHER


def test_weights_that_overflow_excuse_nothing() -> None:
    assert shortest_compared(np.full(2, np.inf, np.float32), 1, NEAR) == 0.0


@pytest.mark.parametrize(
    ("distance", "cosine", "found"),
    [
        (0.01, 0.999, SAME),
        (0.0, 1.0, SAME),
        (0.0101, 1.0, DOUBTFUL),
        (0.3, 0.9, DOUBTFUL),
        (0.005, 0.998, DOUBTFUL),
        (0.301, 1.0, OTHER),
        (math.inf, -1.0, OTHER),
    ],
)
def test_what_is_a_little_too_far_is_doubtful(distance: float, cosine: float, found: Agreement) -> None:
    assert agreement(Likeness(distance, cosine), NEAR) is found


def pairs(groups: str) -> dict[tuple[int, int], Agreement]:
    """Results by letters: equal ones are the same, small ones doubtful beside their capitals."""

    def between(a: str, b: str) -> Agreement:
        return SAME if a == b else DOUBTFUL if a.upper() == b.upper() else OTHER

    return {(i, j): between(groups[i], groups[j]) for i, j in combinations(range(len(groups)), 2)}


@pytest.mark.parametrize(
    ("groups", "holds"),
    [
        ("AA", [SAME, SAME]),
        ("AB", None),
        ("A", None),
        ("", None),
        ("AAB", [SAME, SAME, OTHER]),
        ("BAA", [OTHER, SAME, SAME]),
        ("AAa", [SAME, SAME, DOUBTFUL]),
        ("ABC", None),
        ("AABB", None),
        ("AABBB", [OTHER, OTHER, SAME, SAME, SAME]),
        ("AABC", None),
        ("AAABC", [SAME, SAME, SAME, OTHER, OTHER]),
    ],
)
def test_what_more_than_half_agree_on_holds(groups: str, holds: list[Agreement] | None) -> None:
    assert majority(len(groups), pairs(groups)) == holds


@pytest.mark.parametrize("wrong", [(0.0, 0.9, 0.3), (0.1, 0.9, 1.0), (0.1, 1.0, 0.3), (0.1, 0.9, 0.05)])
def test_tolerances_that_cannot_be_are_refused(wrong: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match="distance <= blame"):
        Tolerance(*wrong)
