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


def sealing_key(agreed: bytes, context: bytes, sender: int, receiver: int) -> bytes:
    """Returns the key that seals `sender`'s shares for `receiver`; `agreed` is their share keys' secret."""
    return hkdf(agreed, context, fields(b"minga/masked/1/share", place(sender), place(receiver)))


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
