"""Commitments to the results of work units, which bind a client to its vector before another one is seen."""

from __future__ import annotations

import hashlib

SALT_BYTES = 32


def result_commitment(salt: bytes, client: str, lease: int, update: bytes | memoryview) -> bytes:
    """Returns SHA-256(salt, identity, lease, vector), 32 bytes.

    `salt` has SALT_BYTES, `client` is the public id, and `update` the little-endian float32 vector. Identity
    and lease make another client's commitment worthless, the salt hides a vector that others may guess.
    Raises ValueError for a salt of another length.
    """
    if len(salt) != SALT_BYTES:
        raise ValueError(f"A salt has {SALT_BYTES} bytes, not {len(salt)}.")
    digest = hashlib.sha256(salt + client.encode("ascii") + lease.to_bytes(8, "little"))
    digest.update(update)
    return digest.digest()
