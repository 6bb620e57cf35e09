"""Reads the arrays of a NumPy .npz file, a few rows at a time."""

from __future__ import annotations

import math
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from backend.datasets.readers.files import MAX_RATIO
from backend.datasets.readers.source import Array
from backend.errors import DataError

# NumPy's functions for the format have no type hints.
_npy: Any = np.lib.format
# Reading rows of an array in column-major order requires the whole array in memory.
_MAX_COLUMNS_FIRST = 1 << 30
# No file has so many numbers along an axis; NumPy itself has at most 64 axes, and the findings name 16.
_MAX_LENGTH, _MAX_AXES = 1 << 40, 16
# Files that unpack to less are harmless, whatever their ratio.
_RATIO_MATTERS = 16 << 20


@dataclass
class NpzRows:
    """An array of a file, whose rows are read once, in order; `name` is for people and includes the file."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    _file: IO[bytes]
    _whole: Array | None = None
    _done: int = 0

    def take(self, count: int) -> Array:
        """Reads the next `count` rows, fewer at the end. Raises DataError if the file ends early."""
        count = min(count, self.shape[0] - self._done)
        start, self._done = self._done, self._done + count
        if self._whole is not None:
            return self._whole[start : start + count]
        return self._read((count, *self.shape[1:]))

    def load(self) -> None:
        """Reads a column-major array into memory."""
        self._done = self.shape[0]
        self._whole = self._read(self.shape[::-1]).T
        self._done = 0

    def _read(self, shape: tuple[int, ...]) -> Array:
        size = self.dtype.itemsize * math.prod(shape)
        content = self._file.read(size)
        if len(content) != size:
            raise DataError(f"{self.name} ends early; write the file again.")
        if self._done == self.shape[0] and self._file.read(1):
            raise DataError(f"{self.name} continues after its end; write the file again.")
        return np.frombuffer(content, self.dtype).reshape(shape)


@contextmanager
def open_npz(path: Path, names: Sequence[str]) -> Iterator[list[NpzRows]]:
    """Opens the named arrays.

    Raises DataError if a name is missing, an array is not of plain numbers, or the file is a bomb.
    """
    if not path.is_file():
        raise DataError(f"There is no file {path}; check the path.")
    try:
        with ExitStack() as stack:
            archive = stack.enter_context(zipfile.ZipFile(path))
            available = [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
            absent = [name for name in names if name not in available]
            if absent:
                raise DataError(
                    f"{path} has no array '{absent[0]}'; it has {', '.join(available)}. "
                    "Name the arrays by `x` and `y` of [data.preprocess]."
                )
            check_ratio(path, archive)
            members = [archive.getinfo(f"{name}.npy") for name in names]
            yield [
                _opened(stack.enter_context(archive.open(member)), f"{path}: '{name}'", member.file_size)
                for name, member in zip(names, members, strict=True)
            ]
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error, RuntimeError) as error:
        raise DataError(f"{path} is not an .npz file of plain numbers ({error}).") from error


def check_ratio(path: Path, archive: zipfile.ZipFile) -> None:
    """Raises DataError if the arrays unpack to far more than the file's size.

    They count together: sorted labels alone may be a thousand times as long as what they are packed to.
    """
    size = sum(item.file_size for item in archive.infolist())
    if size > max(_RATIO_MATTERS, MAX_RATIO * path.stat().st_size):
        raise DataError(
            f"{path}: the arrays unpack to over {MAX_RATIO} times the file's size; that is no data file. "
            "If it is one, leave out what is always the same, or save it with numpy.savez."
        )


def _opened(file: IO[bytes], name: str, size: int) -> NpzRows:
    version = _npy.read_magic(file)
    if version not in ((1, 0), (2, 0)):
        raise DataError(f"{name} has names for its values; save plain numbers.")
    read = _npy.read_array_header_1_0 if version == (1, 0) else _npy.read_array_header_2_0
    shape, columns_first, dtype = read(file)
    if dtype.kind not in "biuf":
        raise DataError(f"{name} holds {dtype}, no numbers.")
    if not shape:
        raise DataError(f"{name} is a single number; the first axis has to count examples.")
    if len(shape) > _MAX_AXES or not all(0 <= length <= _MAX_LENGTH for length in shape):
        raise DataError(f"{name} has the shape {str(shape)[:80]}, which no array has; write the file again.")
    if dtype.itemsize * math.prod(shape) > size:
        raise DataError(f"{name} ends early; write the file again.")
    rows = NpzRows(name, shape, dtype, file)
    if columns_first and len(shape) > 1:
        if size > _MAX_COLUMNS_FIRST:
            raise DataError(
                f"{name} is stored in column order and has over {_MAX_COLUMNS_FIRST >> 30} GiB; "
                "save numpy.ascontiguousarray of it."
            )
        rows.load()
    return rows
