"""Masked pieces are whole numbers whose sum, with every mask in it, is the mean."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.errors import NotFiniteError, WrongLengthError
from backend.numerics.aggregation.part_mean import shares
from backend.numerics.masking.masked_parts import (
    MAX_VALUE,
    add_words,
    checked_mean,
    checked_piece,
    mean_into,
    piece_words,
    to_bytes,
)
from backend.numerics.vectors import Vector
from tests.contract.vectors.secagg.make_masked_parts import PLACE, vectors

GOLDEN: dict[str, Any] = json.loads(PLACE.read_text("utf-8"))
SUBJECTS = pytest.mark.parametrize("subject", MAX_VALUE)


@pytest.mark.parametrize("name", GOLDEN)
def test_the_golden_vectors_are_what_is_computed(name: str) -> None:
    assert json.loads(json.dumps(vectors()[name])) == GOLDEN[name]


@given(
    rows=st.lists(st.lists(st.floats(-100, 100, width=32), min_size=5, max_size=5), min_size=3, max_size=8),
    weights=st.lists(st.floats(0.5, 1e6), min_size=8, max_size=8),
    masks=st.integers(0, 2**32 - 1),
    subject=st.sampled_from(sorted(MAX_VALUE)),
)
def test_the_sum_of_masked_pieces_is_the_mean(
    rows: list[list[float]], weights: list[float], masks: int, subject: str
) -> None:
    values: Vector = np.array(rows, np.float32)
    weights = weights[: len(rows)]
    found = _mean(values, weights, subject, masks)
    cut = np.clip(values, -MAX_VALUE[subject], MAX_VALUE[subject]).astype(np.float64)
    exact = np.average(cut, axis=0, weights=weights)
    unit = MAX_VALUE[subject] / 2**30
    # Half a unit of each word, and what shares and the result lose as float32.
    lost = len(rows) * unit / 2 + float(np.abs(cut).max()) * 2**-22
    assert np.allclose(found, exact, rtol=0.0, atol=lost)


def _mean(rows: Vector, weights: list[float], subject: str, mask: int) -> Vector:
    """As members make it who have one mask, which cancels: sums wrap around on the way."""
    pieces = []
    for row, share in zip(rows, shares(weights), strict=True):
        pieces.append(piece_words(row, share, subject))
    pieces[0] += np.uint32(mask)
    pieces[-1] -= np.uint32(mask)
    total = np.zeros(rows.shape[1], np.uint32)
    add_words([to_bytes(piece) for piece in pieces], total)
    decoded = np.empty(rows.shape[1], np.float32)
    mean_into(checked_mean(to_bytes(total), rows.shape[1]), subject, decoded)
    return decoded


@SUBJECTS
def test_a_mean_of_the_largest_values_is_still_one(subject: str) -> None:
    rows = np.full((32, 3), MAX_VALUE[subject] * 9, np.float32)
    rows[:, 1] *= -1
    most = MAX_VALUE[subject]
    found = _mean(rows, [1.0 + member for member in range(32)], subject, 0x9E3779B9)
    assert np.allclose(found, [most, -most, most], rtol=1e-6)


@SUBJECTS
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_is_not_sent(subject: str, value: float) -> None:
    with pytest.raises(NotFiniteError, match="learning rate"):
        piece_words(np.array([0.0, value], np.float32), np.float32(0.5), subject)


def test_a_sum_in_which_masks_were_left_is_no_mean() -> None:
    words = np.random.default_rng(1).integers(0, 2**32, 1000, np.uint32)
    with pytest.raises(NotFiniteError, match="masks were left"):
        checked_mean(to_bytes(words), 1000)


@pytest.mark.parametrize("check", [checked_mean, checked_piece])
@pytest.mark.parametrize("size", [0, 11, 16])
def test_three_values_are_twelve_bytes(check: Any, size: int) -> None:
    with pytest.raises(WrongLengthError, match="12 bytes"):
        check(np.zeros(size, np.uint8), 3)
    assert len(check(np.zeros(12, np.uint8), 3)) == 12
