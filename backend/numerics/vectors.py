"""The flat vector: little-endian float32 on the wire and on disk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from backend.errors import WrongLengthError

Vector = NDArray[np.float32]
Vector64 = NDArray[np.float64]
# Vectors of one length: a matrix [n, size], or [size] each.
Rows = Vector | Sequence[Vector]

VALUE_BYTES = 4
# A block of float32 and its float64 scratch fit the second-level cache together.
BLOCK_VALUES = 64 * 1024


def blocks(size: int) -> Iterator[slice]:
    """Consecutive slices that cover `size` values."""
    for start in range(0, size, BLOCK_VALUES):
        yield slice(start, min(start + BLOCK_VALUES, size))


def from_bytes(data: bytes | bytearray | memoryview, size: int) -> Vector:
    """The vector of `size` values in `data`, without a copy. Raises WrongLengthError on any other length."""
    if len(data) != size * VALUE_BYTES:
        raise WrongLengthError(
            f"The vector has {len(data)} bytes; this model's has {size * VALUE_BYTES}. "
            "Load the task's bundle again and send the update of that model."
        )
    return np.frombuffer(data, dtype="<f4").astype(np.float32, copy=False)


def to_bytes(vector: Vector) -> memoryview:
    """Little-endian float32 bytes of `vector`, which must not change while they are in use."""
    return np.ascontiguousarray(vector, "<f4").view(np.uint8).data
