"""The weights that a peer of a mesh has: in memory to train from and hand out, on the disk between visits."""

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
MOST_HELD = 2


class KeptWeights:
    """Weights by their SHA-256, the last ones that were kept."""

    def __init__(self) -> None:
        self._held: dict[str, bytes] = {}

    def keep(self, sha256: str, content: bytes) -> None:
        """Has these weights, of that hash, from now on."""
        self._held.pop(sha256, None)
        self._held[sha256] = content
        while len(self._held) > MOST_HELD:
            del self._held[next(iter(self._held))]

    def find(self, sha256: str) -> bytes | None:
        """The weights of that hash, if they are here."""
        return self._held.get(sha256)


class EarlierVisit(Struct, frozen=True):
    """What a peer brings along to a task that it was in before."""

    certificate: Certificate
    weights: bytes


class VisitFile:
    """The newest certified weights of one task, by its whole address, in a file of `folder`.

    Several peers of a machine may share the folder; who writes last is remembered.
    """

    def __init__(self, folder: Path, address: str, task: str) -> None:
        self._path = folder / f"{hashlib.sha256(address.encode()).hexdigest()[:32]}.weights"
        self._task = task

    def write(self, visit: EarlierVisit) -> None:
        """Remembers it. A full disk costs only this."""
        with suppress(OSError):
            write_whole(self._path, msgspec.msgpack.encode(visit))

    def read(self) -> EarlierVisit | None:
        """The last visit; None without one, and for a file that was damaged."""
        with suppress(OSError, msgspec.DecodeError):
            visit = msgspec.msgpack.decode(self._path.read_bytes(), type=EarlierVisit)
            right = hashlib.sha256(visit.weights).hexdigest() == visit.certificate.weights
            if right and certified(visit.certificate, self._task):
                return visit
        return None
