from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from backend.errors import NormTooLargeError, NotFiniteError, WrongLengthError
from backend.numerics.aggregation.update_checks import Norm, all_finite, check_finite
from backend.numerics.vectors import BLOCK_VALUES, Vector, from_bytes, to_bytes


def norm_of(update: Vector, block: int = BLOCK_VALUES) -> Norm:
    norm = Norm()
    for start in range(0, len(update), block):
        norm.add(update[start : start + block])
    return norm


BAD = st.sampled_from([math.nan, math.inf, -math.inf])


@given(
    hnp.arrays(np.float32, st.integers(0, 50), elements=st.floats(-1e3, 1e3, width=32)), st.integers(1, 60)
)
def test_the_norm_of_a_good_update_is_found_however_it_comes(update: Vector, block: int) -> None:
    expected = float(np.linalg.norm(update.astype(np.float64)))
    assert norm_of(update, block).within(1e9) == pytest.approx(expected, rel=1e-5, abs=1e-18)


@given(st.integers(0, 2 * BLOCK_VALUES), BAD)
def test_one_bad_value_anywhere_is_found(at: int, value: float) -> None:
    update = np.zeros(2 * BLOCK_VALUES + 1, np.float32)
    update[at] = value
    with pytest.raises(NotFiniteError, match="NaN or infinity"):
        norm_of(update)
    assert not all_finite(update)


def test_a_large_finite_update_is_called_large_not_infinite() -> None:
    update = np.full(10, 3e38, np.float32)
    with pytest.raises(NormTooLargeError, match="at most 100"):
        norm_of(update).within(100.0)
    assert all_finite(update)


def test_the_bound_itself_is_allowed() -> None:
    update = np.array([3.0, 4.0], np.float32)
    assert norm_of(update).within(5.0) == 5.0
    with pytest.raises(NormTooLargeError):
        norm_of(update).within(4.999)


def test_an_update_of_zeros_is_fine() -> None:
    assert norm_of(np.zeros(5, np.float32)).within(1.0) == 0.0


@given(BAD)
def test_a_bad_number_is_named(value: float) -> None:
    check_finite("loss", [0.5, -1.0])
    with pytest.raises(NotFiniteError, match="The loss holds NaN"):
        check_finite("loss", [0.5, value])


@pytest.mark.parametrize("value", [1.0001e30, -1e300])
def test_a_number_that_could_overflow_a_sum_is_refused(value: float) -> None:
    check_finite("loss", [1e30, -1e30])
    with pytest.raises(NotFiniteError, match="over 1e\\+30"):
        check_finite("loss", [value])


@given(hnp.arrays(np.float32, st.integers(0, 50), elements=st.floats(width=32)))
def test_a_vector_survives_its_bytes(vector: Vector) -> None:
    assert np.array_equal(from_bytes(to_bytes(vector), len(vector)), vector, equal_nan=True)


@pytest.mark.parametrize("length", [0, 3, 7, 9, 12])
def test_another_length_is_refused(length: int) -> None:
    with pytest.raises(WrongLengthError, match=f"{length} bytes; this model's has 8"):
        from_bytes(bytes(length), 2)


def test_the_norm_of_several_blocks_is_one_norm() -> None:
    update = np.full(3 * BLOCK_VALUES + 5, 0.5, np.float32)
    assert norm_of(update).within(1e9) == pytest.approx(0.5 * math.sqrt(len(update)), rel=1e-6)
    with pytest.raises(NormTooLargeError):
        norm_of(update).within(0.4 * math.sqrt(len(update)))
