"""Proof of work: numbers that take many hashes to find and few to check (Dwork and Naor 1992; Back 2002).

A proof has PARTS parts, so that it takes about the same time each time, and its progress can be shown: with
one part the time would be spread like the interval between random events. `proof-of-work.ts` is its twin.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

PARTS = 16
# PARTS = 2 ** _PART_BITS parts of 2 ** (bits - _PART_BITS) hashes on average are 2 ** bits hashes.
_PART_BITS = 4
SEED_BYTES = 32
# A nonce is below this, so that it is exact in JavaScript.
MOST_NONCES = 2**48


def search(seed: bytes, part: int, bits: int, first: int, count: int) -> int | None:
    """Returns the smallest nonce of `part` in `count` numbers from `first` on; None without one.

    `seed` has SEED_BYTES bytes. 2 ** (bits - 4) hashes are needed on average; `bits` is
    from 5 to 260.
    """
    prefix, bound = seed + part.to_bytes(4, "big"), _bound(bits)
    for nonce in range(first, first + count):
        if sha256(prefix + nonce.to_bytes(8, "big")).digest() < bound:
            return nonce
    return None


def is_proof(seed: bytes, bits: int, nonces: Sequence[int]) -> bool:
    """Whether `nonces` are one for each part, and their hashes start with as many zero bits as they must."""
    bound = _bound(bits)
    return len(nonces) == PARTS and all(
        0 <= nonce < MOST_NONCES
        and sha256(seed + part.to_bytes(4, "big") + nonce.to_bytes(8, "big")).digest() < bound
        for part, nonce in enumerate(nonces)
    )


def _bound(bits: int) -> bytes:
    """Returns what a part's hash is below: it starts with `bits` - 4 zero bits."""
    return (1 << (256 - (bits - _PART_BITS))).to_bytes(32, "big")
