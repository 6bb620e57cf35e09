"""Writes shard files and their index."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from backend.datasets.readers.source import Array
from backend.datasets.sharding.array_store import StoredArrays
from backend.datasets.sharding.byte_budget import ByteBudget
from backend.errors import BundleError, DataError
from backend.formats.manifest import Manifest
from backend.formats.shard_file import StoredArray, StoredShard, decode_shard
from backend.formats.shard_index import INDEX, PREPROCESS, ShardFile, ShardIndex
from backend.numerics.preprocess.fitted import Dtype, Fitted, encode_fitted


def write_shard(
    folder: Path,
    fitted: Fitted,
    stored: StoredArrays,
    numbers: NDArray[np.int64],
    manifest: Manifest | None,
    budget: ByteBudget,
    part: int | None,
) -> ShardFile:
    """Writes the examples with the indices `numbers` to a shard named by its hash.

    Raises DataError, and OverQuotaError over the budget.
    """
    shard = StoredShard(
        format="minga-shard/2",
        examples=len(numbers),
        x=[
            stored_array(array[numbers], spec.dtype)
            for array, spec in zip(stored.x, fitted.inputs, strict=True)
        ],
        y=[
            stored_array(array[numbers], spec.dtype)
            for array, spec in zip(stored.y, fitted.labels, strict=True)
        ],
    )
    return write_content(folder, shard, manifest, budget, part)


def write_content(
    folder: Path, shard: StoredShard, manifest: Manifest | None, budget: ByteBudget, part: int | None
) -> ShardFile:
    """Writes a shard to a file named by its hash. Raises DataError, and OverQuotaError over the budget."""
    content = msgspec.msgpack.encode(shard)
    if manifest is not None:
        try:
            decode_shard(content, manifest)
        except BundleError as error:
            raise DataError(str(error)) from error
    digest = hashlib.sha256(content).hexdigest()
    name = f"{digest}.shard"
    budget.take_file(len(content))
    _write(folder / name, content)
    return ShardFile(name, digest, shard.examples, len(content), part)


def write_index(
    folder: Path, fitted: Fitted, train: Sequence[ShardFile], holdout: Sequence[ShardFile]
) -> ShardIndex:
    """Writes preprocess.json and shards.json. Raises DataError."""
    content = encode_fitted(fitted)
    _write(folder / PREPROCESS, content)
    index = ShardIndex(list(train), list(holdout), hashlib.sha256(content).hexdigest())
    write_shards_json(folder, index)
    return index


def write_shards_json(folder: Path, index: ShardIndex) -> None:
    """Writes shards.json. Raises DataError."""
    _write(folder / INDEX, msgspec.json.format(msgspec.json.encode(index), indent=1) + b"\n")


def stored_array(values: Array, dtype: Dtype) -> StoredArray:
    """Returns `values` [n, ...] as a shard has them."""
    data = np.ascontiguousarray(values, np.dtype(dtype).newbyteorder("<"))
    return StoredArray(dtype=dtype, shape=list(data.shape), data=data.tobytes())


def _write(path: Path, content: bytes) -> None:
    try:
        path.write_bytes(content)
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror}.") from error
