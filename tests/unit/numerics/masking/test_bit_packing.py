"""Packed words keep their lowest bits, and nothing else is sent."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.numerics.masking.bit_packing import (
    add_update,
    masked_bytes,
    masked_words,
    pack,
    pack_update,
    packed_bytes,
    unpack,
    unpack_update,
)

WORDS = st.lists(st.integers(0, 2**32 - 1), max_size=40)


@given(st.integers(1, 32), WORDS)
def test_bits_lie_one_after_the_other_lowest_first(bits: int, values: list[int]) -> None:
    packed = pack(np.array(values, np.uint32), bits)
    expected = sum((value % 2**bits) << (bits * place) for place, value in enumerate(values))
    assert packed == expected.to_bytes(packed_bytes(len(values), bits), "little")


@given(st.integers(1, 32), WORDS)
def test_unpacking_undoes_packing(bits: int, values: list[int]) -> None:
    words = np.array(values, np.uint32)
    back = unpack(pack(words, bits), len(values), bits)
    assert back.tolist() == [value % 2**bits for value in values]


@given(st.integers(16, 32), st.lists(st.tuples(*[st.integers(0, 2**32 - 1)] * 5), min_size=1, max_size=20))
def test_sums_of_packed_words_are_right_modulo_their_bits(bits: int, clients: list[tuple[int, ...]]) -> None:
    """Two packed parameters and three whole words, added up over clients."""
    total = np.zeros(5, np.uint32)
    for values in clients:
        sent = pack_update(np.array(values, np.uint32), 2, bits)
        assert len(sent) == masked_bytes(2, 0, bits)
        add_update(total, sent, 2, 0, bits)
    sums = [sum(column) for column in zip(*clients, strict=True)]
    assert [int(word) % 2**bits for word in total[:2]] == [value % 2**bits for value in sums[:2]]
    assert total[2:].tolist() == [value % 2**32 for value in sums[2:]]


@pytest.mark.parametrize("bits", [16, 19, 24, 31])
def test_long_vectors_are_packed_in_blocks_without_seams(bits: int) -> None:
    words = np.random.default_rng(bits).integers(0, 2**32, 200_003, dtype=np.uint32)
    assert np.array_equal(unpack(pack(words, bits), len(words), bits), words & np.uint32(2**bits - 1))


def test_an_update_has_a_stated_length() -> None:
    assert masked_words(1_000_000, 1) == 1_000_005
    assert masked_bytes(1_000_000, 1, 32) == 4_000_020
    assert masked_bytes(1_000_000, 1, 16) == 2_000_020
    assert masked_bytes(3, 0, 17) == 7 + 12
    with pytest.raises(ValueError, match="no masked update"):
        unpack_update(b"123", 3, 0, 17)
    for bits in (17, 32):
        with pytest.raises(ValueError, match="no masked update"):
            add_update(np.zeros(6, np.uint32), memoryview(b"123"), 3, 0, bits)
