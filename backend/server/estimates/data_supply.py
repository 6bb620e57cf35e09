"""Computes a plan's supply of training data: exact once the data are cut, an estimate before."""

from __future__ import annotations

import math
from dataclasses import dataclass

from backend.formats.manifest import Manifest
from backend.formats.shard_index import ShardIndex
from backend.formats.task_file import TaskFile

# Largest shard and smallest number of shards that the cut makes (backend/datasets/sharding/cut.py).
_SHARD_EXAMPLES, _SHARDS = 1000, 16
_BYTES_PER_VALUE = 4
# Examples of a volunteer if their number is unknown, as in `minga simulate`.
DEFAULT_EXAMPLES = 200


@dataclass(frozen=True)
class Supply:
    """`examples` to train on in `shards` of `bytes` in total; without shards, those of one volunteer.

    `counted` says whether the numbers are exact.
    """

    examples: int
    shards: int = 0
    bytes: int = 0
    counted: bool = False

    @property
    def own(self) -> bool:
        """Whether volunteers train on their own examples."""
        return self.shards == 0


def cut_supply(index: ShardIndex) -> Supply:
    """Returns the supply of the existing shards."""
    return Supply(
        sum(shard.examples for shard in index.train),
        len(index.train),
        sum(shard.bytes for shard in index.train),
        counted=True,
    )


def expected_supply(found: int, file: TaskFile, manifest: Manifest) -> Supply:
    """Estimates what the cut will make of `found` examples."""
    examples = max(1, math.floor(found * (1.0 - file.data.holdout)))
    shards = max(min(_SHARDS, examples), math.ceil(examples / _SHARD_EXAMPLES))
    shapes = [spec.shape for spec in manifest.inputs] + [spec.shape for spec in manifest.labels]
    values = sum(map(math.prod, shapes))
    # Shards store pictures as bytes, everything else as numbers of four bytes.
    pictures = file.data.preprocess is not None and file.data.preprocess.__struct_config__.tag == "image"
    return Supply(examples, shards, examples * values * (1 if pictures else _BYTES_PER_VALUE))


def own_supply(file: TaskFile, brought: int | None) -> Supply:
    """Returns one volunteer's training examples of `brought` ones, within the task's bounds and holdout."""
    own = file.data.own
    if own is None:
        raise ValueError("The task assigns shards.")
    bounded = min(own.maximum, max(own.minimum, brought or DEFAULT_EXAMPLES))
    return Supply(max(1, math.floor(bounded * (1.0 - own.holdout))), counted=brought is not None)
