"""Data shards as arrays; docs/reference/bundle.md says how a shard looks."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from backend.errors import PeerError
from backend.services.manifest import Manifest, TensorSpec

Array = NDArray[Any]


class _Tensor(Struct, frozen=True):
    dtype: Literal["uint8", "int32", "float32"]
    shape: list[Annotated[int, Meta(ge=0)]]
    data: bytes

    def array(self) -> Array:
        dtype = np.dtype(self.dtype).newbyteorder("<")
        if len(self.data) != math.prod(self.shape) * dtype.itemsize:
            raise PeerError("A data shard's bytes do not fit its shape; the task's owner must cut it again.")
        return np.frombuffer(self.data, dtype).reshape(self.shape)


class _Shard(Struct, frozen=True):
    format: Literal["minga-shard/1"]
    examples: int
    x: _Tensor
    y: _Tensor


@dataclass(frozen=True)
class Examples:
    """Preprocessed examples: `x` [n, ...] and `y` [n, ...] in the dtypes of the bundle's input and label."""

    x: Array
    y: Array

    def __len__(self) -> int:
        return len(self.x)


def read_shard(content: bytes, manifest: Manifest) -> Examples:
    """The examples of one shard, ready for the graphs. Raises PeerError when it does not fit the bundle."""
    try:
        shard = msgspec.msgpack.decode(content, type=_Shard)
    except msgspec.DecodeError as error:
        raise PeerError(
            f"A data shard cannot be read ({error}); ask the task's owner to cut it again."
        ) from error
    x, y = shard.x.array(), shard.y.array()
    _check(x, manifest.input, "inputs", shard.examples)
    _check(y, manifest.label, "labels", shard.examples)
    if manifest.input.dtype == "float32":
        x = x.astype(np.float32) * np.float32(manifest.preprocess.scale)
    return Examples(x.astype(manifest.input.dtype, copy=False), y.astype(manifest.label.dtype, copy=False))


def join_shards(shards: Iterable[Examples]) -> Examples:
    """All examples in one piece, in order."""
    parts = list(shards)
    return Examples(np.concatenate([part.x for part in parts]), np.concatenate([part.y for part in parts]))


def _check(values: Array, spec: TensorSpec, what: str, examples: int) -> None:
    if list(values.shape) != [examples, *spec.shape]:
        raise PeerError(
            f"The shard's {what} have shape {list(values.shape)} where the bundle wants "
            f"{[examples, *spec.shape]}; the data was cut for another model."
        )
