"""Keeps the updates of a round until they are aggregated: in memory up to a budget, the others in a file.

The file has no name, so that nothing of it is left when the process ends, however it ends.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from tempfile import TemporaryFile
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backend.errors import StoreError
from backend.numerics.aggregators.update_set import UpdateRow, Updates
from backend.numerics.vectors import VALUE_BYTES, Vector


class SpooledRow:
    """One update [size], float32, in the file: a slice reads its values."""

    dtype = np.dtype(np.float32)

    def __init__(self, descriptor: int, offset: int, size: int) -> None:
        self._descriptor, self._offset, self.shape = descriptor, offset, (size,)

    def __getitem__(self, part: slice, /) -> NDArray[Any]:
        """Returns the values of a slice without a step. Raises StoreError if the file cannot be read."""
        start, stop, _ = part.indices(self.shape[0])
        length, at = (stop - start) * VALUE_BYTES, self._offset + start * VALUE_BYTES
        values = np.empty(stop - start, np.float32)
        target = values.view(np.uint8).data
        read = 0
        while read < length:
            try:
                count = os.preadv(self._descriptor, [target[read:]], at + read)
            except OSError as error:
                raise StoreError(f"A spooled update cannot be read: {error}.") from error
            if not count:
                raise StoreError("A spooled update ends early: its file was cut. Check the disk.")
            read += count
        return values


class SpareRows:
    """Owns the array of a closed spool until the next one takes it.

    Fresh pages of memory can cost more than to copy a round's updates into them. May be called in any thread.
    """

    def __init__(self) -> None:
        self._kept: NDArray[np.float32] | None = None
        self._rests = False

    def take(self, rows: int, size: int) -> NDArray[np.float32]:
        """Returns an array with at least `rows` rows of `size` values, whatever they are."""
        kept, self._kept, self._rests = self._kept, None, False
        if kept is not None and len(kept) >= rows and kept.shape[1] == size:
            return kept
        return np.empty((rows, size), np.float32)

    def keep(self, array: NDArray[np.float32]) -> None:
        """Keeps an array that nobody uses any more, in place of the one before."""
        if len(array) and not self._rests:
            self._kept = array

    def rest(self) -> None:
        """Frees the array, and keeps none until the next `take`: no update is expected for a while."""
        self._kept, self._rests = None, True


class UpdateSpool:
    """Owns the updates of one round, of `size` values each, in the order of arrival.

    The first ones, up to `memory_bytes`, are rows of one array, which takes memory as they arrive; the file
    in `folder` is made for the first update beyond. The array comes from `spare`, and goes there at the end.
    """

    def __init__(
        self, size: int, memory_bytes: int, folder: Path | None = None, spare: SpareRows | None = None
    ) -> None:
        self._size, self._folder = size, folder
        capacity = memory_bytes // max(size * VALUE_BYTES, 1)
        self._spare = spare
        rows = min(capacity, sys.maxsize // max(size, 1))
        self._array = spare.take(rows, size) if spare else np.empty((rows, size), np.float32)
        self._memory = self._array[:rows]
        self._file: Any = None
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def file_bytes(self) -> int:
        """Number of bytes in the file."""
        return max(0, self._count - len(self._memory)) * self._size * VALUE_BYTES

    def add(self, update: Vector) -> None:
        """Copies an update, float32 [size].

        Raises ValueError for another shape, and StoreError if the disk does not take it; nothing changes
        then.
        """
        if update.shape != (self._size,):
            raise ValueError(f"A spool of updates of {self._size} values cannot take {update.shape}.")
        if self._count < len(self._memory):
            self._memory[self._count] = update
        else:
            self._append(np.ascontiguousarray(update, np.float32))
        self._count += 1

    def rows(self) -> Updates:
        """Returns all updates [len(self), size]. They are valid until `close`."""
        in_memory = self._memory[: min(self._count, len(self._memory))]
        if self._count <= len(self._memory):
            return in_memory
        length = self._size * VALUE_BYTES
        spooled = range(self._count - len(self._memory))
        rows: list[UpdateRow] = list(in_memory)
        return rows + [SpooledRow(self._file.fileno(), number * length, self._size) for number in spooled]

    def close(self) -> None:
        """Frees memory and disk. Rows must no longer be in use."""
        if self._spare is not None:
            self._spare.keep(self._array)
        self._array = self._memory = np.empty((0, self._size), np.float32)
        self._count = 0
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> UpdateSpool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _append(self, update: Vector) -> None:
        try:
            if self._file is None:
                self._file = TemporaryFile(dir=self._folder, buffering=0)  # noqa: SIM115
            data, at = update.view(np.uint8).data, self.file_bytes
            written = 0
            while written < len(data):
                written += os.pwritev(self._file.fileno(), [data[written:]], at + written)
        except OSError as error:
            raise StoreError(
                f"The updates of a round do not fit the disk ({error}). Free space in the data folder."
            ) from error
