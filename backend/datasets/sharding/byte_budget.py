"""Counts the bytes that a cut writes, and ends it before it takes more of the disk than is left for it."""

from __future__ import annotations

from dataclasses import dataclass

from backend.errors import OverQuotaError

# A file takes at least so much of a disk, whatever its length.
_FILE_BYTES = 4096


@dataclass
class ByteBudget:
    """The number of bytes `left` to write; None is no limit."""

    left: int | None = None

    def take_file(self, size: int) -> None:
        """Takes a whole file of `size` bytes. Raises OverQuotaError if fewer are left."""
        self.take(max(size, _FILE_BYTES))

    def take(self, size: int) -> None:
        """Takes `size` bytes of a file. Raises OverQuotaError if fewer are left."""
        if self.left is None:
            return
        self.left -= size
        if self.left < 0:
            raise OverQuotaError(
                "The shards and their temporary files need more disk space than is free. Free some, or use "
                "less data."
            )
