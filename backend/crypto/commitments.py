"""Digests by which members of a group commit to pieces and identify means (docs/reference/mesh.md)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

DIGEST_BYTES = 32


def piece_digest(data: bytes | memoryview) -> bytes:
    """Returns the commitment that a member sends with `begin`, before it sees the pieces of others."""
    return hashlib.sha256(data).digest()


def mean_digest(contributors: Sequence[int], data: bytes | memoryview) -> bytes:
    """Returns the digest of a mean: it covers its bytes and its contributors' places, at most 255."""
    digest = hashlib.sha256(bytes([len(contributors), *contributors]))
    digest.update(data)
    return digest.digest()
