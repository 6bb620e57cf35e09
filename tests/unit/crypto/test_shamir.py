"""Any threshold of shares recovers a secret; fewer say nothing about it."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.crypto.shamir import (
    PRIME,
    SHARE_BYTES,
    factors_at_zero,
    randomness_bytes,
    recover,
    split,
    valid,
)
from tests.contract.vectors.secagg.make_masked import made

FIELD = st.integers(0, PRIME - 1).map(lambda number: number.to_bytes(SHARE_BYTES, "big"))
HOLDERS = st.lists(st.integers(0, 4095), min_size=1, max_size=20, unique=True)


@given(secret=FIELD, holders=HOLDERS, data=st.data())
def test_any_threshold_of_shares_recovers_the_secret(
    secret: bytes, holders: list[int], data: st.DataObject
) -> None:
    threshold = data.draw(st.integers(1, len(holders)))
    count = randomness_bytes(threshold)
    randomness = data.draw(st.binary(min_size=count, max_size=count))
    shares = dict(zip(holders, split(secret, holders, threshold, randomness), strict=True))
    some = data.draw(st.permutations(holders))[: data.draw(st.integers(threshold, len(holders)))]
    assert recover({place: shares[place] for place in some}) == secret


@given(secret=FIELD, guess=FIELD, holders=HOLDERS)
def test_one_share_too_few_fits_every_secret_equally(secret: bytes, guess: bytes, holders: list[int]) -> None:
    threshold = len(holders)
    randomness = made("coefficients", randomness_bytes(threshold))
    shares = dict(zip(holders, split(secret, holders, threshold, randomness), strict=True))
    missing, factors = holders[0], factors_at_zero(holders)
    rest = sum(factors[place] * int.from_bytes(shares[place], "big") for place in holders[1:])
    # For each secret there is exactly one value of the missing share.
    value = (int.from_bytes(guess, "big") - rest) * pow(factors[missing], -1, PRIME) % PRIME
    shares[missing] = value.to_bytes(SHARE_BYTES, "big")
    assert recover(shares) == guess


@pytest.mark.parametrize("secret", [bytes(32), (PRIME - 1).to_bytes(32, "big")])
def test_one_share_too_few_is_uniform_whatever_the_secret(secret: bytes) -> None:
    random, draws = Random(1), 4000
    shares = [b"".join(split(secret, [0, 1, 2], 3, random.randbytes(64))[:2]) for _ in range(draws)]
    values = np.frombuffer(b"".join(shares), np.uint8).reshape(draws, 64)
    for at in range(64):
        counts = np.bincount(values[:, at], minlength=256)
        squares = ((counts - draws / 256) ** 2 / (draws / 256)).sum()
        # Chi-square with 255 degrees of freedom: mean 255, deviation 22.6; five of them for 64 columns.
        assert abs(squares - 255) < 5 * 22.6
    # Nor do the two shares together: their bytes do not go along with each other.
    together = np.corrcoef(values[:, :32].ravel(), values[:, 32:].ravel())[0, 1]
    assert abs(together) < 5 / np.sqrt(draws * 32)


def test_a_bent_share_gives_another_secret() -> None:
    secret = made("secret")
    shares = dict(enumerate(split(secret, range(5), 3, made("coefficients", 64))))
    assert recover({0: shares[0], 1: shares[1], 2: shares[3]}) != secret


def test_factors_can_be_made_once_for_many_secrets() -> None:
    factors = factors_at_zero([5, 2, 9])
    for name in ("a", "b"):
        shares = dict(zip((2, 5, 9), split(made(name), (2, 5, 9), 3, made(name, 64)), strict=True))
        assert recover(shares, factors) == made(name)


def test_only_what_is_in_the_field_is_a_secret() -> None:
    assert valid((PRIME - 1).to_bytes(32, "big"))
    assert not valid(PRIME.to_bytes(32, "big"))
    assert not valid(bytes(31))
    with pytest.raises(ValueError, match="below the prime"):
        split(PRIME.to_bytes(32, "big"), [0, 1], 2, bytes(32))
    with pytest.raises(ValueError, match="below the prime"):
        recover({0: b"\xff" * 32, 1: bytes(32)})


@pytest.mark.parametrize(
    ("holders", "threshold", "randomness"), [([0, 0], 2, 32), ([0], 2, 32), ([0, 1], 0, 0), ([-1, 1], 2, 32)]
)
def test_shares_for_nobody_or_the_same_twice_are_refused(
    holders: list[int], threshold: int, randomness: int
) -> None:
    with pytest.raises(ValueError, match="different holders"):
        split(made("secret"), holders, threshold, bytes(randomness))


def test_too_little_randomness_is_refused_without_saying_the_secret() -> None:
    secret = made("secret")
    with pytest.raises(ValueError, match="random bytes") as caught:
        split(secret, [0, 1, 2], 3, bytes(63))
    assert secret.hex() not in str(caught.value)
    assert str(int.from_bytes(secret, "big")) not in str(caught.value)
