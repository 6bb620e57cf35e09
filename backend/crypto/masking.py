"""The masks of one client: a self mask, which unmasking removes, and pairwise masks, which cancel."""

from __future__ import annotations

from collections.abc import Mapping

from backend.crypto.client_keys import agree_all
from backend.crypto.derive import own_key, pair_key
from backend.crypto.keystream import Sign


def mask_keys(
    context: bytes, owner: int, seed: bytes, mask_private: bytes, neighbours: Mapping[int, bytes]
) -> list[tuple[bytes, Sign]]:
    """Returns keys and signs of the keystreams that `owner` adds to its values.

    `neighbours` are the public mask keys, by place, of the neighbours whose shares it received.
    Raises BadKeyError for a key with which no agreement is possible.
    """
    pairs = pair_keys(context, owner, mask_private, neighbours)
    return [(own_key(seed, context, owner), 1), *pairs]


def pair_keys(
    context: bytes, owner: int, mask_private: bytes, neighbours: Mapping[int, bytes]
) -> list[tuple[bytes, Sign]]:
    """Returns the same as `mask_keys` without the owner's self mask."""
    agreed = agree_all(mask_private, neighbours.values())
    return [
        (pair_key(secret, context, owner, other), _sign(owner, other))
        for other, secret in zip(neighbours, agreed, strict=True)
    ]


def _sign(owner: int, other: int) -> Sign:
    """Whether `owner` adds or subtracts the mask that it shares with `other`."""
    return 1 if other > owner else -1
