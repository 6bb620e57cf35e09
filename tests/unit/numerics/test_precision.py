import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from backend.errors import NotFiniteError, WrongLengthError
from backend.numerics.precision import MAX_HALF, MAX_VALUE, SCALED, checked, decode, encode, encoded_size
from backend.numerics.vectors import BLOCK_VALUES, Vector
from tests.contract.vectors.mesh.make_averaging import PRECISIONS, drawn, halves_and_ties

GOLDEN = json.loads((Path(__file__).parents[2] / "contract" / "vectors" / "averaging.json").read_text())
VECTORS = arrays(np.float32, st.integers(1, 3000), elements=st.floats(-1e6, 1e6, width=32))
each_precision = pytest.mark.parametrize("precision", PRECISIONS)


def sha256(data: Vector) -> str:
    return hashlib.sha256(data.tobytes()).hexdigest()


def test_both_languages_encode_and_decode_the_same() -> None:
    for case in GOLDEN["encoded"]:
        values = np.frombuffer(bytes.fromhex(case["values"]), "<f4")
        for precision in PRECISIONS:
            data = encode(values, precision)
            assert data.tobytes().hex() == case[precision]["data"]
            assert decode(data, len(values), precision).tobytes().hex() == case[precision]["decoded"]


def test_every_float16_is_decoded_and_every_tie_goes_to_the_even_one() -> None:
    every = np.arange(0x7C00, dtype="<u2").view("<f2").astype(np.float32)
    assert sha256(every) == GOLDEN["ties"]["decoded"]["sha256"]
    data = encode(halves_and_ties(), "float16")
    assert hashlib.sha256(data.data).hexdigest() == GOLDEN["ties"]["encoded"]["sha256"]
    below, tie, above = data.view("<u2").reshape(-1, 3).T.astype(int)
    lower = np.arange(len(tie))
    assert (below == lower).all()
    assert (above == lower + 1).all()
    assert (tie == lower + lower % 2).all()


@each_precision
@given(values=VECTORS)
def test_what_is_decoded_is_near_and_stays_so(precision: str, values: Vector) -> None:
    data = encode(values, precision)
    assert data.nbytes == encoded_size(len(values), precision)
    decoded = decode(data, len(values), precision)
    largest = [np.abs(values[at : at + SCALED]).max() for at in range(0, len(values), SCALED)]
    near = {
        "float32": np.zeros(len(values)),
        "float16": np.maximum(np.abs(values) * 2.0**-11, 2.0**-25),
        # Scales below 2**-126 have fewer digits: each is off by 2**-150, 127 times.
        "int8": np.repeat(np.array(largest, "f8"), SCALED)[: len(values)] / 253 + 2.0**-143,
    }[precision]
    assert (
        np.abs(decoded - np.clip(values, -MAX_HALF, MAX_HALF) if precision == "float16" else decoded - values)
        <= near
    ).all()
    if precision != "int8":  # Scales are rounded, too.
        assert (encode(decoded, precision) == data).all()


@each_precision
def test_a_vector_is_the_same_in_blocks_as_in_one_go(precision: str) -> None:
    values = drawn(3, 0, 2 * BLOCK_VALUES + 1500, 0.1)
    parts = [values[at : at + SCALED] for at in range(0, len(values), SCALED)]
    assert encode(values, precision).tobytes() == b"".join(encode(one, precision).tobytes() for one in parts)


@each_precision
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_are_not_encoded(precision: str, bad: float) -> None:
    values = np.zeros(BLOCK_VALUES + 5, np.float32)
    values[-2] = bad
    with pytest.raises(NotFiniteError):
        encode(values, precision)


@each_precision
def test_the_largest_floats_are_set_to_what_can_be_averaged(precision: str) -> None:
    values = np.array([3.4e38, -3.4e38, 1.0], np.float32)
    most = MAX_HALF if precision == "float16" else MAX_VALUE
    decoded = decode(encode(values, precision), 3, precision)
    assert decoded[:2] == pytest.approx([most, -most], rel=1e-6)


@each_precision
def test_bytes_of_another_length_are_refused(precision: str) -> None:
    data = encode(drawn(1, 0, 1500, 1.0), precision).tobytes()
    for wrong in (data[:-1], data + b"\0", b""):
        with pytest.raises(WrongLengthError, match=f"are {len(data)} bytes, not {len(wrong)}"):
            checked(wrong, 1500, precision)


BAD = {
    "float32": [np.array([bad], "<f4").tobytes() for bad in (np.nan, np.inf, -np.inf, 2.0**101, -(2.0**101))],
    "float16": [np.array([bad], "<f2").tobytes() for bad in (np.nan, np.inf, -np.inf)],
    "int8": [np.array([bad], "<f4").tobytes() + b"\1" for bad in (np.nan, np.inf, -1.0, -np.inf, 2.0**95)],
}


@pytest.mark.parametrize(("precision", "bad"), [(one, bad) for one in BAD for bad in BAD[one]])
def test_bytes_that_cannot_be_averaged_are_refused_wherever_they_stand(precision: str, bad: bytes) -> None:
    values = 2 * SCALED + 1
    data = bytearray(encode(np.ones(values, np.float32), precision).tobytes())
    decode(data, values, precision)
    data[-len(bad) :] = bad
    with pytest.raises(NotFiniteError):
        decode(data, values, precision)
    data = bytearray(encode(np.ones(values, np.float32), precision).tobytes())
    data[: len(bad)] = bad
    with pytest.raises(NotFiniteError):
        checked(data, values, precision)


@each_precision
def test_checking_copies_nothing(precision: str) -> None:
    data = encode(np.ones(10, np.float32), precision)
    assert np.shares_memory(checked(data, 10, precision), data)
