"""Arrays of NumPy's .npz files."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from backend.errors import DataError
from backend.numerics.preprocess.declared import DeclaredArrays
from backend.numerics.preprocess.fitted import Arrays, Dtype, StoredSpec
from backend.services.datasets.source import Array, Chunk, Split

_AT_ONCE = 1024
_INT32 = np.iinfo(np.int32)
_DTYPES: dict[str, Dtype] = {"uint8": "uint8", "int32": "int32", "float32": "float32"}


def fit_arrays(declared: DeclaredArrays, path: Path) -> Arrays:
    """Shapes and dtypes are those of the file. Raises DataError."""
    x, y = _read(path, declared.x, declared.y)
    return Arrays(
        inputs=[_spec(one) for one in x],
        labels=[_spec(one) for one in y],
        x=list(declared.x),
        y=list(declared.y),
    )


def array_chunks(fitted: Arrays, path: Path, split: Split) -> Iterator[Chunk]:
    """The rows of the arrays. Raises DataError."""
    x, y = _read(path, fitted.x, fitted.y)
    names, specs = (*fitted.x, *fitted.y), (*fitted.inputs, *fitted.labels)
    for name, one, spec in zip(names, (*x, *y), specs, strict=True):
        if list(one.shape[1:]) != spec.shape:
            raise DataError(f"{path}: '{name}' has examples of {list(one.shape[1:])}, not {spec.shape}.")
    held = split.held(len(x[0]))
    for start in range(0, len(held), _AT_ONCE):
        rows = slice(start, start + _AT_ONCE)
        yield Chunk([one[rows] for one in x], [one[rows] for one in y], held[rows])


def _read(path: Path, x: Sequence[str], y: Sequence[str]) -> tuple[list[Array], list[Array]]:
    try:
        with np.load(path, allow_pickle=False) as file:
            absent = [name for name in (*x, *y) if name not in file.files]
            if absent:
                raise DataError(
                    f"{path} has no array '{absent[0]}'; it has {', '.join(file.files)}. "
                    "Name the arrays by `x` and `y` of [data.preprocess]."
                )
            arrays = {name: _stored(f"{path}: '{name}'", file[name]) for name in (*x, *y)}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, AttributeError) as error:
        raise DataError(f"{path} is no .npz file of plain numbers ({error}).") from error
    lengths = {name: len(one) for name, one in arrays.items()}
    if len(set(lengths.values())) != 1 or 0 in lengths.values():
        told = ", ".join(f"'{name}' {length}" for name, length in lengths.items())
        raise DataError(
            f"{path}: all arrays have to hold equally many examples, at least one; they hold {told}."
        )
    return [arrays[name] for name in x], [arrays[name] for name in y]


def _spec(array: Array) -> StoredSpec:
    return StoredSpec(list(array.shape[1:]), _DTYPES[array.dtype.name])


def _stored(what: str, array: Array) -> Array:
    """The array as uint8, int32 or float32. Raises DataError."""
    if array.ndim == 0:
        raise DataError(f"{what} is a single number; the first axis has to count examples.")
    if array.dtype.kind == "b" or array.dtype == np.uint8:
        return array.astype(np.uint8, copy=False)
    if array.dtype.kind in "iu":
        if array.size and (array.min() < _INT32.min or array.max() > _INT32.max):
            raise DataError(f"{what} has whole numbers beyond int32; scale them down.")
        return array.astype(np.int32, copy=False)
    if array.dtype.kind != "f":
        raise DataError(f"{what} holds {array.dtype}, no numbers.")
    with np.errstate(over="ignore"):
        values = array.astype(np.float32, copy=False)
    if not np.isfinite(values).all():
        raise DataError(f"{what} has values that are no finite float32; fill them in first.")
    return values
