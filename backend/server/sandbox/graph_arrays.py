"""Reads the examples of shards as arrays that the graphs take."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from backend.errors import BundleError
from backend.formats.manifest import Manifest
from backend.formats.shard_file import RawShard, decode_shard
from backend.formats.shard_index import INDEX, ShardIndex
from backend.numerics.preprocess.loading import load_values

# Bytes of all examples that are read, at most.
_BYTES = 256 << 20


def graph_arrays(shard: RawShard, manifest: Manifest, rows: int | None = None) -> dict[str, NDArray[Any]]:
    """Returns `x_0`, ..., `y_0`, ... of the first `rows` examples, None for all."""
    loading = manifest.preprocess
    x = {
        f"x_{number}": load_values(values[:rows], loading.scale, loading.offset)
        if spec.dtype == "float32"
        else values[:rows].astype(np.int32)
        for number, (values, spec) in enumerate(zip(shard.x, manifest.inputs, strict=True))
    }
    y = {
        f"y_{number}": values[:rows].astype(spec.dtype)
        for number, (values, spec) in enumerate(zip(shard.y, manifest.labels, strict=True))
    }
    return x | y


def first_batch(shards: Path, manifest: Manifest) -> dict[str, NDArray[Any]]:
    """Returns `x_0`, ..., `y_0`, ... of the first training examples for the graphs. Raises BundleError."""
    try:
        index = msgspec.json.decode((shards / INDEX).read_bytes(), type=ShardIndex)
        shard = decode_shard((shards / index.train[0].file).read_bytes(), manifest)
    except (OSError, IndexError, msgspec.DecodeError) as error:
        raise BundleError(f"The shards cannot be read ({error}); cut the data again.") from error
    return graph_arrays(shard, manifest, manifest.batch_size)


def read_examples(manifest: Manifest, files: Iterable[Path], most: int) -> dict[str, NDArray[Any]]:
    """Returns at most so many examples of the shards in `files`, within the limit of bytes.

    They are named as by `graph_arrays`; empty without files. Raises OSError or BundleError.
    """
    parts: dict[str, list[NDArray[Any]]] = {}
    count = size = 0
    for file in files:
        if count >= most or size >= _BYTES:
            break
        arrays = graph_arrays(decode_shard(file.read_bytes(), manifest), manifest)
        for name, array in arrays.items():
            parts.setdefault(name, []).append(array)
        count += len(arrays["x_0"])
        size += sum(array.nbytes for array in arrays.values())
    return {name: np.concatenate(some)[:most] for name, some in parts.items()}
