"""Caches a mesh peer's weights in memory, and stores the newest certified ones between sessions."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct, field

from backend.crypto.certificates import certified
from backend.peer.data.shared_files import write_whole
from backend.wire.mesh_messages import Certificate

# The newest weights, and those of the round before, which a new peer may still be fetching.
MOST_CACHED = 2


class WeightCache:
    """Keeps the last weights of one peer, at most `most` of them, by their SHA-256."""

    def __init__(self) -> None:
        self.most = MOST_CACHED
        self._contents: dict[str, bytes] = {}

    def keep(self, sha256: str, content: bytes) -> None:
        """Keeps these weights, of that hash."""
        self._contents.pop(sha256, None)
        self._contents[sha256] = content
        while len(self._contents) > self.most:
            del self._contents[next(iter(self._contents))]

    def find(self, sha256: str) -> bytes | None:
        """Returns the weights of that hash; None if they are not cached."""
        return self._contents.get(sha256)


class StoredWeights(Struct, frozen=True):
    """The weights that a peer brings to a task from an earlier session, and what proves them."""

    certificate: Certificate
    weights: bytes
    chain: list[Certificate] = field(default_factory=list)


class WeightStore:
    """Stores the newest certified weights of one task in a file of `folder`, by its full `address`.

    Several peers of a machine may share the folder; the last write counts.
    """

    def __init__(self, folder: Path, address: str, task: str) -> None:
        self._path = folder / f"{hashlib.sha256(address.encode()).hexdigest()[:32]}.weights"
        self._task = task

    def write(self, stored: StoredWeights) -> None:
        """Writes the weights. A failure, such as a full disk, is ignored."""
        with suppress(OSError):
            write_whole(self._path, msgspec.msgpack.encode(stored))

    def read(self) -> StoredWeights | None:
        """Returns the stored weights; None if there are none, or if the file is damaged."""
        with suppress(OSError, msgspec.DecodeError):
            stored = msgspec.msgpack.decode(self._path.read_bytes(), type=StoredWeights)
            is_intact = hashlib.sha256(stored.weights).hexdigest() == stored.certificate.weights
            if is_intact and certified(stored.certificate, self._task):
                return stored
        return None
