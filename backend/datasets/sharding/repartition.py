"""Writes the training shards of a folder again, partitioned among clients in another way."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from backend.datasets.sharding.byte_budget import ByteBudget
from backend.datasets.sharding.shard_writer import stored_array, write_content, write_shards_json
from backend.errors import DataError
from backend.formats.manifest import Manifest
from backend.formats.shard_file import AnyArray, StoredShard, decode_shard
from backend.formats.shard_index import PREPROCESS, ShardFile, ShardIndex, read_index
from backend.numerics.preprocess.fitted import Dtype


def repartition(source: Path, parts: Sequence[NDArray[np.int64]], folder: Path, manifest: Manifest) -> None:
    """Writes a shard for each of `parts` to the new folder `folder`, and none of held-out examples.

    A part has numbers of examples, counted over the training shards of `source` in the order of their index.
    Raises BundleError and DataError.
    """
    index = read_index(source)
    shards = [decode_shard((source / shard.file).read_bytes(), manifest) for shard in index.train]
    x = [np.concatenate(columns) for columns in zip(*(shard.x for shard in shards), strict=True)]
    y = [np.concatenate(columns) for columns in zip(*(shard.y for shard in shards), strict=True)]
    weights = np.concatenate([shard.sample_weight for shard in shards])
    try:
        folder.mkdir(parents=True)
        if index.preprocess is not None:
            shutil.copyfile(source / PREPROCESS, folder / PREPROCESS)
    except OSError as error:
        raise DataError(f"{folder} cannot be written: {error.strerror}.") from error

    def write(part: int, rows: NDArray[np.int64]) -> ShardFile:
        def picked(values: AnyArray) -> AnyArray:
            return values[rows]

        shard = StoredShard(
            format="minga-shard/2",
            examples=len(rows),
            x=[stored_array(picked(values), _dtype(values)) for values in x],
            y=[stored_array(picked(values), _dtype(values)) for values in y],
            sample_weight=stored_array(picked(weights), "float32"),
        )
        return write_content(folder, shard, manifest, ByteBudget(), part)

    written = [write(part, rows) for part, rows in enumerate(parts)]
    write_shards_json(folder, ShardIndex(written, [], index.preprocess))


def _dtype(values: AnyArray) -> Dtype:
    """Returns the name of the dtype, one of those that shards have."""
    return cast(Dtype, values.dtype.name)
