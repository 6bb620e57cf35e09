"""Caches a mesh peer's weights in memory, and stores the newest certified ones between visits."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from backend.crypto.certificates import certified
from backend.peer.data.shared_files import write_whole
from backend.wire.mesh_messages import Certificate

# The newest, and those of the round before, which a newcomer may still be fetching.
MOST_CACHED = 2


class WeightCache:
    """The last weights of one peer, by their SHA-256."""

    def __init__(self) -> None:
        self._contents: dict[str, bytes] = {}

    def keep(self, sha256: str, content: bytes) -> None:
        """Has these weights, of that hash, from now on."""
        self._contents.pop(sha256, None)
        self._contents[sha256] = content
        while len(self._contents) > MOST_CACHED:
            del self._contents[next(iter(self._contents))]

    def find(self, sha256: str) -> bytes | None:
        """The weights of that hash, if they are here."""
        return self._contents.get(sha256)


class StoredWeights(Struct, frozen=True):
    """The weights with which a peer comes back to a task."""

    certificate: Certificate
    weights: bytes


class WeightStore:
    """The newest certified weights of one task, by its whole address, in a file of `folder`.

    Several peers of a machine may share the folder; who writes last is remembered.
    """

    def __init__(self, folder: Path, address: str, task: str) -> None:
        self._path = folder / f"{hashlib.sha256(address.encode()).hexdigest()[:32]}.weights"
        self._task = task

    def write(self, stored: StoredWeights) -> None:
        """Remembers it. A full disk costs only this."""
        with suppress(OSError):
            write_whole(self._path, msgspec.msgpack.encode(stored))

    def read(self) -> StoredWeights | None:
        """The last visit; None without one, and for a file that was damaged."""
        with suppress(OSError, msgspec.DecodeError):
            stored = msgspec.msgpack.decode(self._path.read_bytes(), type=StoredWeights)
            is_intact = hashlib.sha256(stored.weights).hexdigest() == stored.certificate.weights
            if is_intact and certified(stored.certificate, self._task):
                return stored
        return None
