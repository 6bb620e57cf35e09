"""What a plan has to train on: counted once the data are cut, a guess before."""

from __future__ import annotations

import math
from dataclasses import dataclass

from backend.formats.manifest import Manifest
from backend.formats.shard_index import ShardIndex
from backend.formats.task_file import TaskFile

# What the cut makes of data (backend/datasets/sharding/cut.py): its largest and its fewest shards.
_SHARD_EXAMPLES, _SHARDS = 1000, 16
_BYTES_PER_VALUE = 4
# What a volunteer brings where nothing is known, as `minga simulate` has it.
BROUGHT = 200


@dataclass(frozen=True)
class Supply:
    """So many `examples` to train on in `shards` of `bytes` together; without shards, what one volunteer
    brings. `counted` says whether they are known."""

    examples: int
    shards: int = 0
    bytes: int = 0
    counted: bool = False

    @property
    def own(self) -> bool:
        """Whether volunteers train on examples of their own."""
        return self.shards == 0


def cut_supply(index: ShardIndex) -> Supply:
    """The shards that there are."""
    return Supply(
        sum(one.examples for one in index.train),
        len(index.train),
        sum(one.bytes for one in index.train),
        counted=True,
    )


def expected_supply(found: int, file: TaskFile, manifest: Manifest) -> Supply:
    """What the cut would make of `found` examples, about."""
    examples = max(1, math.floor(found * (1.0 - file.data.holdout)))
    shards = max(min(_SHARDS, examples), math.ceil(examples / _SHARD_EXAMPLES))
    shapes = [one.shape for one in manifest.inputs] + [one.shape for one in manifest.labels]
    values = sum(map(math.prod, shapes))
    # Pictures lie in shards as bytes, everything else as numbers of four.
    pictures = file.data.preprocess is not None and file.data.preprocess.__struct_config__.tag == "image"
    return Supply(examples, shards, examples * values * (1 if pictures else _BYTES_PER_VALUE))


def own_supply(file: TaskFile, brought: int | None) -> Supply:
    """What is left to train on of what one volunteer brings, within the bounds of the task."""
    own = file.data.own
    if own is None:
        raise ValueError("The task deals out shards.")
    bounded = min(own.maximum, max(own.minimum, brought or BROUGHT))
    return Supply(max(1, math.floor(bounded * (1.0 - own.holdout))), counted=brought is not None)
