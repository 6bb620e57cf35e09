"""Receives pieces and means: assembles the chunks of one member to the bytes of a part."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from backend.errors import WrongLengthError
from backend.numerics.precision import Bytes
from backend.wire.peer_messages import Mean, Piece

# Whether it is a mean, its part, and its contributors: a member sends each once.
TransferKey: TypeAlias = tuple[bool, int, tuple[int, ...]]
# The most means of one part that a member may send: each step that leaves members out makes another one.
MOST_MEANS = 16


@dataclass
class _Partial:
    data: Bytes
    filled: int = 0


@dataclass
class Receiver:
    """Receives the bytes of one member of a group of `parts` parts. Owned by the exchange.

    Holds at most twice the vector in unfinished transfers; complete bytes belong to the caller.
    """

    parts: int
    _partials: dict[TransferKey, _Partial] = field(default_factory=dict)
    _complete: set[TransferKey] = field(default_factory=set)

    def take(self, frame: Piece | Mean, size: int) -> Bytes | None:
        """Takes a chunk of a transfer of `size` bytes; returns all bytes with the last chunk, else None.

        A transfer that is repeated begins again at its first byte; one that was complete before is ignored.
        Raises WrongLengthError for chunks that are too long or out of order, or of too many transfers.
        """
        key = (isinstance(frame, Mean), frame.part, tuple(frame.contributors))
        if key in self._complete:
            return None
        partial = self._start(key, size) if frame.offset == 0 else self._partials.get(key)
        end = frame.offset + len(frame.data)
        if partial is None or partial.filled != frame.offset or end > size:
            raise WrongLengthError(f"Its bytes of part {frame.part} are out of order or too many.")
        partial.data[frame.offset : end] = np.frombuffer(frame.data, np.uint8)
        partial.filled = end
        if end < size:
            return None
        del self._partials[key]
        self._complete.add(key)
        return partial.data

    def clear(self) -> None:
        """Drops unfinished transfers, after their link broke: they will begin again."""
        self._partials.clear()

    def _start(self, key: TransferKey, size: int) -> _Partial:
        of_part = sum(other[:2] == key[:2] for other in (*self._complete, *self._partials) if other != key)
        if len(self._partials) > 2 * self.parts or of_part >= MOST_MEANS:
            raise WrongLengthError(f"It sends part {key[1]} too often.")
        partial = self._partials.setdefault(key, _Partial(np.empty(size, np.uint8)))
        partial.filled = 0
        return partial
