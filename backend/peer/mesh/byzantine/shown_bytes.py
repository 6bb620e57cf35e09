"""Assembles the pieces and means that other members send, chunk by chunk, by their SHA-256."""

from __future__ import annotations

from dataclasses import dataclass, field

from backend.errors import WrongLengthError
from backend.wire.byzantine_messages import Show

# A member sends at most its vector, its mean, and in an exchange what others lack: so many vectors in all.
MOST_VECTORS = 6
# The first and last chunk may be shorter; each takes memory besides its bytes.
_SHORTEST_CHUNK = 1024


@dataclass
class _Unfinished:
    digest: bytes
    chunks: list[memoryview] = field(default_factory=list)
    filled: int = 0


@dataclass
class ShownBytes:
    """The bytes that one member sends in a round; each piece has at most `largest` bytes, all `most`.

    A member sends one after the other: where one begins, nothing is kept of one that did not end. Owned by
    the round's host.
    """

    largest: int
    most: int
    _partial: _Unfinished | None = None
    _taken: int = 0

    def take(self, frame: Show) -> bytes | None:
        """Takes a chunk; returns all bytes with the last one, else None.

        Raises WrongLengthError for chunks that are out of order, too many or too short.
        """
        size = len(frame.data)
        if frame.size > self.largest or self._taken + size > self.most:
            raise WrongLengthError("It sends more bytes than a round has.")
        if frame.offset == 0:
            self._partial = _Unfinished(frame.digest)
        partial = self._partial
        if partial is None or (partial.digest, partial.filled) != (frame.digest, frame.offset):
            raise WrongLengthError("Its bytes are out of order.")
        partial.chunks.append(frame.data)
        partial.filled += size
        self._taken += size
        if partial.filled > frame.size or len(partial.chunks) > 2 + frame.size // _SHORTEST_CHUNK:
            self._partial = None
            raise WrongLengthError("It sends too many or too short chunks.")
        if partial.filled < frame.size:
            return None
        self._partial = None
        return b"".join(partial.chunks)

    def clear(self) -> None:
        """Drops unfinished transfers, after their link broke."""
        self._partial = None
