import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.numerics.aggregation.part_mean import centered_clip, pass_on, reduce_part, shares, trimmed_mean
from backend.numerics.precision import Bytes, decode, encode
from backend.numerics.vectors import BLOCK_VALUES, Vector
from tests.contract.vectors.mesh.make_averaging import PRECISIONS, REDUCERS, drawn

GOLDEN = json.loads((Path(__file__).parents[3] / "contract" / "vectors" / "averaging.json").read_text())[
    "means"
]
# How far a decoded value can be from what was encoded, as a part of the largest.
STEP = {"float32": 1e-7, "float16": 2.0**-11, "int8": 1 / 250}
each_precision = pytest.mark.parametrize("precision", PRECISIONS)
each_reducer = pytest.mark.parametrize("reducer", REDUCERS)


def members(seed: int, count: int, values: int, most: float = 1.0) -> Vector:
    return np.stack([drawn(seed, member, values, most) for member in range(count)])


def reduced(rows: Vector, weights: list[float], precision: str, reducer: str) -> Vector:
    values = rows.shape[1]
    pieces: list[Bytes] = [encode(row, precision) for row in rows]
    return decode(reduce_part(pieces, weights, values, precision, reducer), values, precision)


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: f"{len(case['weights'])}x{case['values']}")
def test_both_languages_make_the_same_means(case: dict[str, object]) -> None:
    seed, values, most = case["seed"], case["values"], case["most"]
    weights, told = case["weights"], case["shares"]
    assert isinstance(seed, int)
    assert isinstance(values, int)
    assert isinstance(most, float)
    assert isinstance(weights, list)
    rows = members(seed, len(weights), values, most)
    assert [float(share) for share in shares(weights)] == told
    for precision in PRECISIONS:
        golden = case[precision]
        assert isinstance(golden, dict)
        pieces = [encode(row, precision) for row in rows]
        assert [hashlib.sha256(piece.data).hexdigest() for piece in pieces] == [
            one["sha256"] for one in golden["pieces"]
        ]
        for reducer in REDUCERS:
            mean = reduce_part(pieces, weights, values, precision, reducer)
            assert hashlib.sha256(mean.data).hexdigest() == golden[reducer]["sha256"]
        travelling = None
        for row, share in zip(rows, shares(weights), strict=True):
            travelling = pass_on(travelling, row, share, precision)
        assert travelling is not None
        assert hashlib.sha256(travelling.data).hexdigest() == golden["ring"]["sha256"]


@each_precision
@given(seed=st.integers(1, 1000), count=st.integers(2, 9), values=st.integers(1, 2500))
def test_the_mean_is_that_of_float64_but_for_rounding(
    precision: str, seed: int, count: int, values: int
) -> None:
    rows, weights = members(seed, count, values), [float(n + 1) for n in range(count)]
    exact = np.average(rows.astype(np.float64), axis=0, weights=weights)
    assert np.abs(reduced(rows, weights, precision, "mean") - exact).max() <= 2.1 * STEP[precision]


@each_precision
@each_reducer
def test_what_all_agree_on_is_the_mean(precision: str, reducer: str) -> None:
    row = drawn(1, 0, BLOCK_VALUES + 700, 0.5)
    same = np.stack([row] * 5)
    assert np.abs(reduced(same, [1.0] * 5, precision, reducer) - row).max() <= 0.5 * 2.1 * STEP[precision]


@each_reducer
def test_pieces_stay_as_they_are(reducer: str) -> None:
    pieces = [encode(row, "float32") for row in members(2, 4, 100)]
    before = [piece.copy() for piece in pieces]
    reduce_part(pieces, [1.0] * 4, 100, "float32", reducer)
    assert all((piece == copy).all() for piece, copy in zip(pieces, before, strict=True))


def test_the_largest_values_make_no_infinite_mean() -> None:
    rows = np.full((32, 3), 3.4e38, np.float32)
    for precision in PRECISIONS:
        for reducer in REDUCERS:
            assert np.isfinite(reduced(rows, [1 / 3] * 32, precision, reducer)).all()


def test_weights_that_make_no_mean_are_refused() -> None:
    for weights in ([0.0, 0.0], [float("nan"), 1.0], [float("inf"), 1.0], [1.0, -1.0]):
        with pytest.raises(ValueError, match="make no mean"):
            shares(weights)


@given(seed=st.integers(1, 1000), count=st.integers(3, 12))
def test_a_trimmed_mean_is_within_what_the_honest_sent(seed: int, count: int) -> None:
    rows = members(seed, count, 50)
    liars = max(count // 5, 1)
    rows[:liars] = 1e20 * (-1) ** seed
    honest = rows[liars:]
    mean = trimmed_mean(rows)
    assert (mean <= honest.max(axis=0)).all()
    assert (mean >= honest.min(axis=0)).all()


def test_a_trimmed_mean_of_two_is_their_mean() -> None:
    rows = members(4, 2, 30)
    assert (trimmed_mean(rows) == (rows[0] + rows[1]) / 2).all()


@given(seed=st.integers(1, 1000))
def test_one_member_cannot_draw_a_clipped_mean_away(seed: int) -> None:
    rows = members(seed, 7, 40)
    honest = rows[1:].mean(axis=0)
    near = np.linalg.norm(rows[1:] - honest, axis=1).max()
    rows[0] = 1e9
    assert np.linalg.norm(centered_clip(rows) - honest) <= 1.5 * near


def test_a_ring_ends_with_the_mean() -> None:
    rows, weights = members(5, 6, 3000), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    each, exact = shares(weights), np.average(rows.astype(np.float64), axis=0, weights=weights)
    for precision in PRECISIONS:
        travelling = None
        for row, share in zip(rows, each, strict=True):
            travelling = pass_on(travelling, row, share, precision)
        assert travelling is not None
        assert np.abs(decode(travelling, 3000, precision) - exact).max() <= 7 * STEP[precision]
