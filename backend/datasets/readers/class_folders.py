"""Reads files from folders named by their class, one example a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from backend.datasets.readers.files import Files, folder_of
from backend.datasets.readers.source import Array, Broken, ExampleChunk, HoldoutSplit
from backend.errors import DataError

_CHUNK_FILES = 64
# Decoding releases the GIL, but each thread holds a whole file: more than a few only cost memory.
_THREADS = 4

# Reads an example, x and y, from the file of that name, or returns why it cannot be read.
ReadExample: TypeAlias = Callable[[str], tuple[NDArray[Any], Array] | DataError]


def class_names(files: Files) -> set[str]:
    """Returns the names of the folders with files in them, which are the classes."""
    return {folder_of(name) for name in files.names} - {""}


def folder_chunks(
    files: Files, split: HoldoutSplit, broken: Broken, read: ReadExample
) -> Iterator[ExampleChunk]:
    """Yields the examples of all files, read by several threads, in order; `broken` gets the errors."""
    held_out = split.held_out(len(files.names))
    with ThreadPoolExecutor(_THREADS) as threads:
        for start in range(0, len(held_out), _CHUNK_FILES):
            names = files.names[start : start + _CHUNK_FILES]
            x, y, flags = [], [], []
            for i, result in enumerate(threads.map(read, names)):
                if isinstance(result, DataError):
                    broken(result)
                    continue
                x.append(result[0])
                y.append(result[1])
                flags.append(held_out[start + i])
            if flags:
                yield ExampleChunk([np.stack(x)], [np.stack(y)], np.array(flags))
