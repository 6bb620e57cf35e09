"""Keeps stored arrays on disk while a data set is cut; memory holds one chunk at most."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from backend.datasets.readers.source import Array, ExampleChunk
from backend.datasets.sharding.byte_budget import ByteBudget
from backend.errors import DataError
from backend.numerics.preprocess.fitted import Fitted, StoredSpec


@dataclass(frozen=True)
class StoredArrays:
    """All examples of a data set: `x` and `y` [n, ...] each, and a mask of the held-out ones [n]."""

    x: list[Array]
    y: list[Array]
    held_out: NDArray[np.bool_]


def store(
    chunks: Iterable[ExampleChunk], fitted: Fitted, folder: Path, name: str, budget: ByteBudget
) -> StoredArrays:
    """Writes chunks to files in `folder` whose names start with `name`; returns memory-mapped arrays.

    Raises DataError if there is no example or a file cannot be written, OverQuotaError over the budget.
    """
    specs = [*fitted.inputs, *fitted.labels]
    paths = [folder / f"{name}-{number}" for number in range(len(specs))]
    held_out: list[NDArray[np.bool_]] = []
    try:
        files = [path.open("wb") for path in paths]
        try:
            for chunk in chunks:
                for file, values, spec in zip(files, (*chunk.x, *chunk.y), specs, strict=True):
                    content = np.ascontiguousarray(values, spec.dtype).tobytes()
                    budget.take(len(content))
                    file.write(content)
                held_out.append(chunk.held_out)
        finally:
            for file in files:
                file.close()
    except OSError as error:
        raise DataError(f"{folder} cannot be written: {error.strerror}.") from error
    if not sum(map(len, held_out)):
        raise DataError("No example is left; see the messages about the files above.")
    mask = np.concatenate(held_out)
    arrays = [_opened(path, spec, len(mask)) for path, spec in zip(paths, specs, strict=True)]
    count = len(fitted.inputs)
    return StoredArrays(arrays[:count], arrays[count:], mask)


def _opened(path: Path, spec: StoredSpec, n: int) -> Array:
    if 0 in spec.shape:
        return np.zeros((n, *spec.shape), spec.dtype)
    return np.memmap(path, spec.dtype, "r", shape=(n, *spec.shape))
