"""Derives keys for one purpose of one round each: HKDF-SHA256 (RFC 5869), salted with the context."""

from __future__ import annotations

import hashlib

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from backend.crypto.round_context import fields, place

DERIVED_BYTES = 32


def hkdf(secret: bytes, salt: bytes, info: bytes, length: int = DERIVED_BYTES) -> bytes:
    """Returns `length` bytes derived from `secret`."""
    return HKDF(SHA256(), length, salt, info).derive(secret)


def sealing_keys(agreed: bytes, context: bytes, sender: int, receiver: int) -> tuple[bytes, bytes]:
    """Returns the keys that seal `sender`'s shares for `receiver`: of its seed, and of its mask key.

    `agreed` is the secret of their share keys. `receiver` reveals one of both keys at the end of the round.
    """
    keys = hkdf(
        agreed,
        context,
        fields(b"minga/masked/2/share", place(sender), place(receiver)),
        2 * DERIVED_BYTES,
    )
    return keys[:DERIVED_BYTES], keys[DERIVED_BYTES:]


def pair_key(agreed: bytes, context: bytes, one: int, other: int) -> bytes:
    """Returns the pairwise mask key, the same for both neighbours; `agreed` is their mask keys' secret."""
    lower, higher = min(one, other), max(one, other)
    return hkdf(agreed, context, fields(b"minga/masked/1/pair", place(lower), place(higher)))


def own_key(seed: bytes, context: bytes, owner: int) -> bytes:
    """Returns the key of the mask that only `owner` adds, from its seed of 32 bytes."""
    return hkdf(seed, context, fields(b"minga/masked/1/self", place(owner)))


def rotation_key(context: bytes) -> bytes:
    """Returns the key of the public signs by which a round's packed updates are rotated."""
    return hashlib.sha256(fields(b"minga/masked/1/rotation", context)).digest()


def choice_key(context: bytes) -> bytes:
    """Returns the key of the public words that choose which values a round's updates contain."""
    return hashlib.sha256(fields(b"minga/masked/1/choice", context)).digest()
