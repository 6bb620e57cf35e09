"""Decodes one msgpack data shard and checks it against the model (docs/reference/bundle.md).

Server and peer both use this module.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from backend.errors import BundleError
from backend.formats.manifest import InputSpec, LabelSpec, Manifest, Size

AnyArray = NDArray[Any]


# Bytes of a shard around its values: names, shapes and lengths of its arrays.
_FRAME = 64 * 1024


class StoredArray(Struct, frozen=True, forbid_unknown_fields=True):
    """An array as row-major little-endian bytes; the first dimension counts examples."""

    dtype: Literal["uint8", "int32", "float32"]
    shape: list[Size]
    data: bytes


class StoredShard(Struct, frozen=True, forbid_unknown_fields=True):
    """The content of a shard file: one array per input and label of the bundle, and sample weights."""

    format: Literal["minga-shard/2"]
    examples: Size
    x: list[StoredArray]
    y: list[StoredArray]
    sample_weight: StoredArray | None = None


@dataclass(frozen=True)
class RawShard:
    """A shard's arrays as stored: `x` and `y` [n, ...] each, `sample_weight` [n], float32."""

    x: tuple[AnyArray, ...]
    y: tuple[AnyArray, ...]
    sample_weight: NDArray[np.float32]


def largest_shard(manifest: Manifest, examples: int) -> int:
    """Returns the most bytes that a shard of so many examples has: no stored value takes more than four."""
    shapes = [spec.shape for spec in manifest.inputs] + [spec.shape for spec in manifest.labels]
    values = 1 + sum(math.prod(shape) for shape in shapes)
    return 4 * values * examples + _FRAME


def decode_shard(content: bytes, manifest: Manifest) -> RawShard:
    """Decodes a shard and checks that its arrays fit the model of `manifest`.

    Raises BundleError if the bytes are no shard, an array's shape differs from the model's, a class number
    is not in [0, classes), or a weight is negative or not finite.
    """
    try:
        shard = msgspec.msgpack.decode(content, type=StoredShard)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BundleError(f"A data shard cannot be read ({error}); cut the data again.") from error
    if shard.examples > len(content):
        # Only arrays without values could have so many rows, and default weights would exhaust memory.
        raise BundleError("A data shard counts more examples than it has bytes; cut the data again.")
    x = _arrays("inputs", shard.x, manifest.inputs, shard.examples)
    y = _arrays("labels", shard.y, manifest.labels, shard.examples)
    for values, label in zip(y, manifest.labels, strict=True):
        _check_classes(values, label)
    return RawShard(x, y, _weights(shard))


def _arrays(
    what: str, stored: list[StoredArray], specs: Sequence[InputSpec | LabelSpec], examples: int
) -> tuple[AnyArray, ...]:
    if len(stored) != len(specs):
        raise BundleError(
            f"A data shard has {len(stored)} {what} where the model has {len(specs)} "
            f"({', '.join(spec.name for spec in specs)}); cut the data again."
        )
    return tuple(
        _array(f"{what} '{s.name}'", a, [examples, *s.shape]) for a, s in zip(stored, specs, strict=True)
    )


def _array(what: str, stored: StoredArray, shape: list[int]) -> AnyArray:
    dtype = np.dtype(stored.dtype).newbyteorder("<")
    if stored.shape != shape:
        raise BundleError(
            f"A data shard's {what} have the shape {stored.shape} where the model takes {shape}; "
            "cut the data for this model."
        )
    if len(stored.data) != math.prod(shape) * dtype.itemsize:
        raise BundleError(f"The bytes of a data shard's {what} do not fill their shape; cut the data again.")
    return np.frombuffer(stored.data, dtype).reshape(shape)


def _check_classes(values: AnyArray, label: LabelSpec) -> None:
    if label.classes is None or not values.size:
        return
    low, high = values.min(), values.max()
    if low < 0 or high >= label.classes:
        raise BundleError(
            f"The label '{label.name}' of a data shard has the class {low if low < 0 else high}; the model "
            f"knows 0 to {label.classes - 1}. Number the classes from 0, or give the model more outputs."
        )


def _weights(shard: StoredShard) -> NDArray[np.float32]:
    if shard.sample_weight is None:
        return np.ones(shard.examples, np.float32)
    weights = _array("sample weights", shard.sample_weight, [shard.examples]).astype(np.float32)
    if not np.isfinite(weights).all() or (weights < 0.0).any():
        raise BundleError(
            "A data shard has sample weights below zero or no numbers; use finite, positive ones."
        )
    return weights
