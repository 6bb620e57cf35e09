"""Assembles the pieces and means that other members send, chunk by chunk, by their SHA-256."""

from __future__ import annotations

from dataclasses import dataclass, field

from backend.errors import WrongLengthError
from backend.wire.byzantine_messages import Show

# A member sends at most its vector, its mean, and in an exchange what others lack: so many vectors in all.
MOST_VECTORS = 6


@dataclass
class ShownBytes:
    """The bytes that one member sends in a round; each piece has at most `largest` bytes, all `most`.

    Owned by the round's host.
    """

    largest: int
    most: int
    _partials: dict[bytes, bytearray] = field(default_factory=dict)
    _taken: int = 0

    def take(self, frame: Show) -> bytes | None:
        """Takes a chunk; returns all bytes with the last one, else None.

        Raises WrongLengthError for chunks that are out of order, or too many.
        """
        if frame.size > self.largest or self._taken + len(frame.data) > self.most:
            raise WrongLengthError("It sends more bytes than a round has.")
        if frame.offset == 0 and len(frame.data) == frame.size:
            self._taken += frame.size
            return bytes(frame.data)
        if frame.offset == 0:
            self._partials[frame.digest] = bytearray()
        partial = self._partials.get(frame.digest)
        if partial is None or len(partial) != frame.offset or frame.offset + len(frame.data) > frame.size:
            raise WrongLengthError("Its bytes are out of order.")
        self._taken += len(frame.data)
        partial += frame.data
        if len(partial) < frame.size:
            return None
        del self._partials[frame.digest]
        return bytes(partial)

    def clear(self) -> None:
        """Drops unfinished transfers, after their link broke."""
        self._partials.clear()
