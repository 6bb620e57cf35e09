"""The file with the updates of one kept round: how it is named, read and ended.

It has the updates, float32 [count, size], then a KeptRound in JSON, then the length of that in 8 bytes.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
from msgspec import Struct

from backend.errors import StoreError
from backend.numerics.vectors import VALUE_BYTES
from backend.stores.updates.spool import SpooledRow

_ENDING, _LENGTH = ".updates", 8


class KeptUpdate(Struct, frozen=True):
    """Whose update it is, and its weight in a weighted mean."""

    client: str
    weight: float


class KeptOutcome(Struct, frozen=True, kw_only=True):
    """How a round of the run `run` ended: updates of version `version` made version `made`.

    `rule` is empty for the mean; `left_out` are the clients whose updates it did not use. Of the false
    updates that a rule had to bear, `refused` ones are not among the kept ones.
    """

    run: int
    round: int
    version: int
    made: int
    rule: str = ""
    left_out: list[str] = []
    refused: int = 0


class KeptRound(KeptOutcome, frozen=True, kw_only=True):
    """A round with whose updates are kept, in their order; each has `size` values."""

    size: int
    updates: list[KeptUpdate]

    @property
    def row_bytes(self) -> int:
        """Number of bytes of all its updates."""
        return len(self.updates) * self.size * VALUE_BYTES

    @property
    def file_name(self) -> str:
        """The name of its file."""
        return f"{self.round}{_ENDING}"

    @property
    def trailer(self) -> bytes:
        """What follows the updates in its file."""
        text = msgspec.json.encode(self)
        return text + len(text).to_bytes(_LENGTH, "little")


class KeptRows:
    """The updates of a kept round, readable until `close`, also after the round is deleted."""

    def __init__(self, round: KeptRound, path: Path) -> None:
        """Raises StoreError if the file cannot be opened."""
        self.round = round
        self.closed = False
        try:
            self._descriptor = os.open(path, os.O_RDONLY)
        except OSError as error:
            raise StoreError(f"The kept updates of round {round.round} cannot be read: {error}.") from error
        length = round.size * VALUE_BYTES
        self.rows = [
            SpooledRow(self._descriptor, number * length, round.size) for number in range(len(round.updates))
        ]

    def close(self) -> None:
        """Closes the file. Rows must no longer be in use."""
        self.closed = True
        os.close(self._descriptor)


def read_round(path: Path) -> KeptRound | None:
    """Returns the round in a file; None if it is none, or not as long as its updates."""
    try:
        with path.open("rb") as file:
            total = file.seek(0, os.SEEK_END)
            file.seek(max(0, total - _LENGTH))
            length = int.from_bytes(file.read(_LENGTH), "little")
            if not 0 < length <= total - _LENGTH:
                return None
            file.seek(total - _LENGTH - length)
            round = msgspec.json.decode(file.read(length), type=KeptRound)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
    is_whole = round.row_bytes + length + _LENGTH == total
    return round if is_whole and path.name == round.file_name else None
