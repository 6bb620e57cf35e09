"""Reads examples from arrays of NumPy's .npz files, in chunks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from backend.datasets.readers.npz import NpzRows, open_npz
from backend.datasets.readers.source import Array, ExampleChunk, HoldoutSplit
from backend.errors import DataError
from backend.numerics.preprocess.declared import DeclaredArrays
from backend.numerics.preprocess.fitted import Arrays, Dtype, StoredSpec

_CHUNK_ROWS, _CHUNK_BYTES = 1024, 64 << 20
_INT32 = np.iinfo(np.int32)
_STORED: dict[str, Dtype] = {"b": "uint8", "i": "int32", "u": "int32", "f": "float32"}


def fit_arrays(declared: DeclaredArrays, path: Path) -> Arrays:
    """Fits shapes and dtypes to those of the file. Raises DataError."""
    with open_npz(path, (*declared.x, *declared.y)) as arrays:
        _length(path, arrays)
        specs = [StoredSpec(list(array.shape[1:]), _dtype(array)) for array in arrays]
    count = len(declared.x)
    return Arrays(inputs=specs[:count], labels=specs[count:], x=list(declared.x), y=list(declared.y))


def array_chunks(fitted: Arrays, path: Path, split: HoldoutSplit) -> Iterator[ExampleChunk]:
    """Yields the rows of the arrays. Raises DataError."""
    count, specs = len(fitted.x), (*fitted.inputs, *fitted.labels)
    with open_npz(path, (*fitted.x, *fitted.y)) as arrays:
        for array, spec in zip(arrays, specs, strict=True):
            if list(array.shape[1:]) != spec.shape:
                raise DataError(
                    f"{array.name} has examples of {list(array.shape[1:])}, not {spec.shape}; reshape it."
                )
        held_out = split.held_out(_length(path, arrays))
        step = _chunk_rows(arrays)
        for start in range(0, len(held_out), step):
            rows = [_stored(array.name, array.take(step)) for array in arrays]
            yield ExampleChunk(rows[:count], rows[count:], held_out[start : start + step])


def _chunk_rows(arrays: Sequence[NpzRows]) -> int:
    """Returns how many rows are read at a time: fewer of large ones, and one at least."""
    row_bytes = sum(array.dtype.itemsize * math.prod(array.shape[1:]) for array in arrays)
    return max(1, min(_CHUNK_ROWS, _CHUNK_BYTES // max(1, row_bytes)))


def _length(path: Path, arrays: Sequence[NpzRows]) -> int:
    lengths = {array.name: array.shape[0] for array in arrays}
    if len(set(lengths.values())) != 1 or 0 in lengths.values():
        lengths_text = ", ".join(
            f"{name.removeprefix(f'{path}: ')} {length}" for name, length in lengths.items()
        )
        raise DataError(
            f"{path}: all arrays have to hold equally many examples, at least one; they hold {lengths_text}."
        )
    return next(iter(lengths.values()))


def _dtype(array: NpzRows) -> Dtype:
    return "uint8" if array.dtype == np.uint8 else _STORED[array.dtype.kind]


def _stored(name: str, array: Array) -> Array:
    """The rows as uint8, int32 or float32. Raises DataError."""
    if array.dtype.kind == "b" or array.dtype == np.uint8:
        return array.astype(np.uint8, copy=False)
    if array.dtype.kind in "iu":
        if array.size and (array.min() < _INT32.min or array.max() > _INT32.max):
            raise DataError(f"{name} has whole numbers beyond int32; scale them down.")
        return array.astype(np.int32, copy=False)
    with np.errstate(over="ignore"):
        values = array.astype(np.float32, copy=False)
    if not np.isfinite(values).all():
        raise DataError(f"{name} has values that are not finite float32 numbers; fill them in first.")
    return values
