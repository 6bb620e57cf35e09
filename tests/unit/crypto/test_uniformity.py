"""What a masked update looks like to whoever has no key: uniformly random, whatever the update.

Keys come from fixed secrets, so that the statistics are the same on every run; their limits leave chance less
than one in a million. The last test shows that they do find an update that is not masked.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from backend.crypto.client_keys import agreement_key
from backend.crypto.keystream import Words, add_keystreams, keystream
from backend.crypto.masking import mask_keys
from backend.numerics.masking.bit_packing import pack
from backend.numerics.masking.encoding import Encoding, MaskedContribution, encode
from backend.numerics.masking.rotation import sign_words
from backend.numerics.vectors import Vector
from tests.contract.vectors.secagg.make_masked import made

SIZE = 200_000
MEMBERS = 3
# Of a standard normal variable: beyond it lies less than one in a million.
DEVIATIONS = 5.0
UPDATES: dict[str, Vector] = {
    "nothing learnt": np.zeros(SIZE, np.float32),
    "all the same": np.full(SIZE, 1e-3, np.float32),
    "one weight": np.eye(1, SIZE, 7, dtype=np.float32)[0],
    "random": np.random.default_rng(1).standard_normal(SIZE).astype(np.float32),
}


def _encoded(update: Vector, bits: int) -> Words:
    encoding = Encoding(MEMBERS, SIZE, 0, bits, clip=1.0)
    words = keystream(made("rounding"), encoding.words)
    encode(
        encoding, MaskedContribution(update, 1.0, 0.0, []), words, keystream(made("signs"), sign_words(SIZE))
    )
    return words[:SIZE]


def _masked(words: Words, context: str) -> Words:
    """As the first of three members masks them."""
    neighbours = {place: agreement_key(made(f"mask key {place}")) for place in (1, 2)}
    masks = mask_keys(made(context), 0, made("seed"), made("mask key 0"), neighbours)
    masked = words.copy()
    add_keystreams(masked, masks)
    return masked


def _bytes_deviate(data: bytes) -> float:
    """How many standard deviations Pearson's chi-square of the bytes is from that of uniform ones."""
    counts = np.bincount(np.frombuffer(data, np.uint8), minlength=256)
    expected = len(data) / 256
    chi_square = float(((counts - expected) ** 2 / expected).sum())
    return (chi_square - 255) / math.sqrt(2 * 255)


def _bits(words: Words, bits: int) -> NDArray[np.uint8]:
    """Each word's lowest bits, as a row."""
    return np.unpackbits(words.view(np.uint8).reshape(-1, 4), axis=1, bitorder="little")[:, :bits]


def _bits_deviate(words: Words, bits: int) -> float:
    """Most standard deviations by which a bit is set more or less often than each second time."""
    return float(np.abs(_bits(words, bits).mean(axis=0) - 0.5).max() * 2 * math.sqrt(len(words)))


def _correlation(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """In its standard deviations."""
    return float(np.corrcoef(one, other)[0, 1]) * math.sqrt(len(one))


@pytest.mark.parametrize("bits", [32, 24, 16])
@pytest.mark.parametrize("name", UPDATES)
def test_a_masked_update_is_uniformly_random(name: str, bits: int) -> None:
    masked = _masked(_encoded(UPDATES[name], bits), "one round")
    assert abs(_bytes_deviate(pack(masked, bits))) < DEVIATIONS
    assert _bits_deviate(masked, bits) < DEVIATIONS


@pytest.mark.parametrize("bits", [32, 16])
@pytest.mark.parametrize("name", UPDATES)
def test_masks_of_two_rounds_have_nothing_in_common(name: str, bits: int) -> None:
    """Not even with the same keys, which no client uses twice: the context makes others of them."""
    words = _encoded(UPDATES[name], bits)
    one, other = (_masked(words, context) for context in ("one round", "another round"))
    assert _bits_deviate(one ^ other, bits) < DEVIATIONS
    assert _bits_deviate(one - other, bits) < DEVIATIONS
    low = np.uint64(2**bits)
    assert abs(_correlation((one % low).astype(np.float64), (other % low).astype(np.float64))) < DEVIATIONS


@pytest.mark.parametrize("bits", [32, 16])
def test_a_masked_update_says_nothing_of_the_update(bits: int) -> None:
    update = UPDATES["random"]
    masked = (_masked(_encoded(update, bits), "one round") % np.uint64(2**bits)).astype(np.float64)
    assert abs(_correlation(masked, update.astype(np.float64))) < DEVIATIONS
    # Neighbours in the vector do not know of each other either.
    assert abs(_correlation(masked[:-1], masked[1:])) < DEVIATIONS


def test_an_update_without_masks_is_found_out() -> None:
    update = UPDATES["random"]
    words = _encoded(update, 32)
    assert _bytes_deviate(pack(words, 32)) > 100
    assert _bits_deviate(_encoded(UPDATES["all the same"], 32), 32) > 100
    assert _correlation(words.view(np.int32).astype(np.float64), update.astype(np.float64)) > 100
