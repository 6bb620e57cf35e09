"""How members of a group name bytes, before and in place of the bytes (docs/reference/mesh.md)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

DIGEST_BYTES = 32


def piece_digest(data: bytes | memoryview) -> bytes:
    """What a member binds itself to with `begin`, before it sees what others send."""
    return hashlib.sha256(data).digest()


def mean_digest(contributors: Sequence[int], data: bytes | memoryview) -> bytes:
    """The name of a mean: it covers the places of those that are in it, at most 255, and its bytes."""
    digest = hashlib.sha256(bytes([len(contributors), *contributors]))
    digest.update(data)
    return digest.digest()
