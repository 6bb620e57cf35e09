"""Splits secrets of 32 bytes into shares (Shamir 1979), in the field of the largest prime below 2**256.

Python's integers take time that depends on their values. Only code in the process that holds the secret
could measure it; a secret is split once, at a time that no other party chooses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

PRIME = 2**256 - 189
SHARE_BYTES = 32


def valid(secret: bytes) -> bool:
    """Whether `secret`, 32 bytes as a big-endian integer, is in the field; if not, the caller draws again."""
    return len(secret) == SHARE_BYTES and int.from_bytes(secret, "big") < PRIME


def randomness_bytes(threshold: int) -> int:
    """Returns the number of random bytes that `split` needs."""
    return (threshold - 1) * SHARE_BYTES


def split(secret: bytes, holders: Sequence[int], threshold: int, randomness: bytes) -> list[bytes]:
    """Returns shares of 32 bytes for `holders`: `threshold` recover the secret, fewer reveal nothing.

    The shares are in the order of `holders`.

    A holder is a place; its share is the polynomial's value at place + 1. The coefficients from the linear
    one on are 32 bytes each of `randomness`, big-endian, modulo the prime (uniform but for 2**-248).
    Raises ValueError where holders repeat or are too few, or lengths do not fit.
    """
    _check_holders(holders, threshold)
    if not valid(secret) or len(randomness) != randomness_bytes(threshold):
        raise ValueError("A secret has 32 bytes, below the prime, and 32 random bytes a coefficient.")
    coefficients = [
        int.from_bytes(randomness[start : start + SHARE_BYTES], "big") % PRIME
        for start in range(0, len(randomness), SHARE_BYTES)
    ]
    descending = [*reversed(coefficients), int.from_bytes(secret, "big")]
    return [_value(descending, place + 1).to_bytes(SHARE_BYTES, "big") for place in holders]


def recover(shares: Mapping[int, bytes], factors: Mapping[int, int] | None = None) -> bytes:
    """Returns the secret of `shares`, by the holders' places, as many as the threshold.

    False shares give another secret: check the result against its hash or public key. `factors` is the result
    of `factors_at_zero` for the same holders, which saves time when they hold many secrets.
    Raises ValueError for a share outside the field.
    """
    if not all(valid(share) for share in shares.values()):
        raise ValueError("A share is 32 bytes, below the prime.")
    if factors is None:
        factors = factors_at_zero(list(shares))
    total = sum(factors[place] * int.from_bytes(share, "big") for place, share in shares.items())
    return (total % PRIME).to_bytes(SHARE_BYTES, "big")


def factors_at_zero(holders: Sequence[int]) -> dict[int, int]:
    """Returns the factor of each holder's share in the secret: Lagrange interpolation at 0."""
    _check_holders(holders, 1)
    points = [place + 1 for place in holders]
    numerator = prod(points)
    # Places are small: whole products of them are cheaper than a reduction at each step.
    inverses = _inverses([point * prod([x - point for x in points if x != point]) for point in points])
    return {place: numerator * inverse % PRIME for place, inverse in zip(holders, inverses, strict=True)}


def _inverses(numbers: Sequence[int]) -> list[int]:
    """Returns each number's inverse in the field, by a single inversion (Montgomery 1987, section 10.3.1)."""
    products = [1]
    for number in numbers:
        products.append(products[-1] * number % PRIME)
    inverse, inverses = pow(products[-1], -1, PRIME), []
    for number, before in zip(reversed(numbers), reversed(products[:-1]), strict=True):
        inverses.append(inverse * before % PRIME)
        inverse = inverse * number % PRIME
    return inverses[::-1]


def _value(descending: Sequence[int], point: int) -> int:
    value = 0
    for coefficient in descending:
        value = (value * point + coefficient) % PRIME
    return value


def _check_holders(holders: Sequence[int], threshold: int) -> None:
    if threshold < 1 or len(holders) < threshold or len(set(holders)) < len(holders) or min(holders) < 0:
        raise ValueError("Shares need as many different holders as the threshold, at places from 0 on.")
