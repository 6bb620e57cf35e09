"""Cuts a data set into shards: reads it once, partitions it, and writes a new folder."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from backend.datasets.model_fit import check_fits
from backend.datasets.readers.dataset import chunks, fit
from backend.datasets.readers.source import NO_HOLDOUT, Broken, ExampleChunk, HoldoutSplit
from backend.datasets.sharding.array_store import StoredArrays, store
from backend.datasets.sharding.byte_budget import ByteBudget
from backend.datasets.sharding.class_counts import class_numbers, count_classes
from backend.datasets.sharding.shard_writer import write_index, write_shard
from backend.errors import DataError
from backend.formats.manifest import Manifest
from backend.formats.shard_index import ShardIndex
from backend.formats.task_file import Partition
from backend.numerics.client_split import dirichlet, iid
from backend.numerics.preprocess.declared import Preprocess
from backend.numerics.preprocess.fitted import Fitted

# A shard is one download: small enough for a phone, large enough that round trips do not matter.
_SHARD_BYTES = 1 << 20
_SHARD_EXAMPLES = 1000
# A small data set gets about as many shards as a small cohort has clients.
_SHARDS = 16

Numbers = NDArray[np.int64]
Progress = Callable[[int], None]


@dataclass(frozen=True)
class CutPlan:
    """How to cut a data set.

    `holdout` is the held-out share of the data; `test` is a data set to hold out instead. `shard_examples`
    None selects a default size. `max_bytes` limits what is written, also for a while; None does not.
    """

    declared: Preprocess
    holdout: float = 0.1
    test: Path | None = None
    seed: int = 0
    shard_examples: int | None = None
    partition: Partition | None = None
    max_bytes: int | None = None

    @property
    def split(self) -> HoldoutSplit:
        """The held-out part, which is the same in every pass over the data."""
        if self.test is not None:
            return NO_HOLDOUT
        return HoldoutSplit(self.holdout, lambda n: _generator(self.seed).permutation(n))


@dataclass(frozen=True)
class Cut:
    """The result of a cut: the written index, and examples by class (empty without classes)."""

    fitted: Fitted
    index: ShardIndex
    train_classes: dict[str, int]
    holdout_classes: dict[str, int]
    part_classes: list[dict[str, int]]


def cut(
    data: Path, plan: CutPlan, folder: Path, manifest: Manifest | None, broken: Broken, progress: Progress
) -> Cut:
    """Cuts the data at `data` into shards in the empty folder `folder`, to fit `manifest` if given.

    Calls `broken` for each file or row that cannot be used, and `progress` with the number of examples read.
    Raises DataError, and OverQuotaError over `plan.max_bytes`.
    """
    fitted, budget = fit(plan.declared, data, plan.split), ByteBudget(plan.max_bytes)
    if manifest is not None:
        check_fits(fitted, manifest)
    with tempfile.TemporaryDirectory(prefix=".arrays-", dir=folder.parent) as work:
        read = _counted(chunks(fitted, data, plan.split, broken), progress)
        stored = store(read, fitted, Path(work), "train", budget)
        parts = _parts(plan, fitted, stored)
        size = plan.shard_examples or _shard_examples(stored)
        train = [
            write_shard(folder, fitted, stored, numbers, manifest, budget, part if plan.partition else None)
            for part, members in enumerate(parts)
            for numbers in _pieces(members, size)
        ]
        holdout_arrays, numbers = stored, np.flatnonzero(stored.held_out)
        if plan.test is not None:
            read = _counted(chunks(fitted, plan.test, NO_HOLDOUT, broken), progress)
            holdout_arrays = store(read, fitted, Path(work), "test", budget)
            numbers = np.arange(len(holdout_arrays.held_out))
        holdout = [
            write_shard(folder, fitted, holdout_arrays, chunks_read, manifest, budget, None)
            for chunks_read in _pieces(numbers, size)
        ]
        part_classes = [_count(fitted, stored, part) for part in parts]
        return Cut(
            fitted,
            write_index(folder, fitted, train, holdout),
            _count(fitted, stored, np.concatenate(parts)),
            _count(fitted, holdout_arrays, numbers),
            part_classes if plan.partition else [],
        )


def _count(fitted: Fitted, stored: StoredArrays, numbers: Numbers) -> dict[str, int]:
    return count_classes(fitted, [array[numbers] for array in stored.y])


def _generator(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(seed))


def _counted(chunks_read: Iterable[ExampleChunk], progress: Progress) -> Iterator[ExampleChunk]:
    done = 0
    for chunk in chunks_read:
        done += len(chunk.held_out)
        progress(done)
        yield chunk


def _parts(plan: CutPlan, fitted: Fitted, stored: StoredArrays) -> list[Numbers]:
    """Returns shuffled indices of training examples, one part per client; one part without a partition."""
    train = np.flatnonzero(~stored.held_out)
    if not len(train):
        raise DataError("There is no example to train on; lower holdout or add data.")
    # The held-out part uses `plan.seed`; this order must be independent of it.
    random = _generator(plan.seed + 1)
    partition = plan.partition
    if partition is None:
        return [random.permutation(train)]
    if len(train) < partition.clients:
        raise DataError(f"{len(train)} examples cannot be split among {partition.clients} clients.")
    if partition.alpha is None:
        return [train[part] for part in iid(len(train), partition.clients, random)]
    labels = class_numbers(fitted, stored.y)
    if labels is None:
        raise DataError('kind = "dirichlet" splits by class, and these data have none; use "iid".')
    try:
        parts = dirichlet(labels[train], partition.clients, partition.alpha, random)
    except ValueError as error:
        raise DataError(str(error)) from error
    return [train[part] for part in parts]


def _shard_examples(stored: StoredArrays) -> int:
    n = len(stored.held_out)
    example = sum(array.nbytes for array in (*stored.x, *stored.y)) / n
    return max(1, min(_SHARD_EXAMPLES, int(_SHARD_BYTES / max(example, 1)), -(-n // _SHARDS)))


def _pieces(numbers: Numbers, size: int) -> list[Numbers]:
    """Splits indices into parts of nearly equal length, at most `size`."""
    return np.array_split(numbers, -(-len(numbers) // size)) if len(numbers) else []
