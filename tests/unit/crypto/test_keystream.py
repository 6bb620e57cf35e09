"""Keystreams are AES-256-CTR's of NIST SP 800-38A, added and taken off in place."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.crypto.keystream import (
    PIECE_WORDS,
    add_keystream,
    add_keystreams,
    keystream,
)
from tests.contract.vectors.secagg.make_masked import made

# NIST SP 800-38A, F.5.5: key, initial counter, output blocks.
KEY = bytes.fromhex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4")
COUNTER = int("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff", 16)
BLOCKS = (
    "0bdf7df1591716335e9a8b15c860c502"
    "5a6e699d536119065433863c8f657b94"
    "1bc12c9c01610d5d0d8bd6a3378eca62"
    "2956e1c8693536b1bee99c73a31576b6"
)


def test_a_keystream_is_that_of_nist_sp_800_38a() -> None:
    assert keystream(KEY, 16, start=4 * COUNTER).astype("<u4").tobytes().hex() == BLOCKS


@given(
    count=st.integers(0, 3 * PIECE_WORDS),
    start=st.integers(0, PIECE_WORDS),
)
def test_a_part_of_a_keystream_is_the_part_of_the_whole(count: int, start: int) -> None:
    whole = keystream(KEY, start + count)
    assert np.array_equal(keystream(KEY, count, start), whole[start:])


def test_what_was_added_is_taken_off_again() -> None:
    words = np.arange(PIECE_WORDS + 7, dtype=np.uint32)
    add_keystreams(words, [(made("a"), 1), (made("b"), -1)])
    assert not np.array_equal(words, np.arange(words.size, dtype=np.uint32))
    add_keystream(words, made("a"), -1)
    add_keystream(words, made("b"), 1)
    assert np.array_equal(words, np.arange(words.size, dtype=np.uint32))


def test_parts_can_be_done_side_by_side() -> None:
    words = np.zeros(1003, np.uint32)
    add_keystream(words[:500], KEY, 1)
    add_keystream(words[500:], KEY, 1, start=500)
    assert np.array_equal(words, keystream(KEY, 1003))


def test_every_bit_of_a_mask_is_a_fair_coin() -> None:
    words = keystream(made("fair"), 200_000)
    ones = np.unpackbits(words.view(np.uint8).reshape(-1, 4), axis=1).sum(axis=0, dtype=np.int64)
    # 32 coins of 200,000 throws, each within 5 standard deviations.
    assert np.abs(ones - 100_000).max() < 5 * np.sqrt(200_000 / 4)


def test_other_arrays_and_odd_starts_are_refused() -> None:
    with pytest.raises(ValueError, match="uint32"):
        add_keystream(np.zeros(4, np.int32), KEY, 1)
    with pytest.raises(ValueError, match="flat"):
        add_keystream(np.zeros((2, 2), np.uint32), KEY, 1)
    with pytest.raises(ValueError, match="multiple of 4"):
        add_keystream(np.zeros(4, np.uint32), KEY, 1, start=2)
