"""Chunks of pieces and means that come from one member, put together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from backend.errors import WrongLengthError
from backend.numerics.precision import Bytes
from backend.wire.peer_messages import Mean, Piece

# Whether it is a mean, of which part, of whom: for each of these a member is heard out once.
Name: TypeAlias = tuple[bool, int, tuple[int, ...]]
# Means of one part that one member may send: a part is made anew when members are gone on without.
MOST_MEANS = 16


@dataclass
class _Growing:
    data: Bytes
    filled: int = 0


@dataclass
class Receiver:
    """What comes from one member of a group of `parts` parts. Owned by the exchange.

    Holds at most twice the vector in unfinished chunks; what is whole belongs to whom it was handed to.
    """

    parts: int
    _growing: dict[Name, _Growing] = field(default_factory=dict)
    _whole: set[Name] = field(default_factory=set)

    def chunk(self, frame: Piece | Mean, size: int) -> Bytes | None:
        """Takes in a chunk of something of `size` bytes; returns all bytes when it is the last one.

        What begins anew begins again at its first byte. What came before is passed over when it comes again.
        Raises WrongLengthError for chunks that are too long or out of order, or of too many things.
        """
        name = (isinstance(frame, Mean), frame.part, tuple(frame.contributors))
        if name in self._whole:
            return None
        growing = self._start(name, size) if frame.offset == 0 else self._growing.get(name)
        end = frame.offset + len(frame.data)
        if growing is None or growing.filled != frame.offset or end > size:
            raise WrongLengthError(f"Its bytes of part {frame.part} are out of order or too many.")
        growing.data[frame.offset : end] = np.frombuffer(frame.data, np.uint8)
        growing.filled = end
        if end < size:
            return None
        del self._growing[name]
        self._whole.add(name)
        return growing.data

    def forget(self) -> None:
        """The link is down, and what was on its way is lost."""
        self._growing.clear()

    def _start(self, name: Name, size: int) -> _Growing:
        of_part = sum(other[:2] == name[:2] for other in (*self._whole, *self._growing) if other != name)
        if len(self._growing) > 2 * self.parts or of_part >= MOST_MEANS:
            raise WrongLengthError(f"It sends part {name[1]} too often.")
        growing = self._growing.setdefault(name, _Growing(np.empty(size, np.uint8)))
        growing.filled = 0
        return growing
