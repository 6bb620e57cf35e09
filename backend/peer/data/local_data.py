"""A volunteer's own data: read and checked by the task's preprocessing, never sent anywhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backend.datasets.model_fit import check_fits
from backend.datasets.readers.dataset import chunks
from backend.datasets.readers.source import Broken, ExampleChunk, HoldoutSplit, stop
from backend.datasets.sharding.class_counts import count_classes
from backend.errors import DataError, PeerError
from backend.formats.manifest import Manifest
from backend.formats.task_file import VolunteerData
from backend.numerics.partition import parse_part, part_rows
from backend.numerics.philox import MAX_EXAMPLES, permutation
from backend.numerics.preprocess.fitted import Fitted
from backend.peer.data.shards import Examples, load_examples


@dataclass(frozen=True)
class PartitionedData:
    """How examples that all clients have are dealt out: the key of their files, and the most in a part."""

    key: str
    most: int


@dataclass(frozen=True)
class LocalData:
    """A client's own examples: to train on, and held out to measure on."""

    train: Examples
    holdout: Examples
    partition: PartitionedData | None = None

    def part(self, name: str) -> Examples:
        """The examples of a part that the server deals out by name. Raises PeerError for another's name."""
        if self.partition is None:
            raise PeerError("This task trains on its clients' own data, and its server deals nothing out.")
        try:
            half, number = parse_part(self.partition.key, name)
            examples = self.train if half == "train" else self.holdout
            return examples.picked(part_rows(len(examples), self.partition.most, number))
        except ValueError as error:
            raise PeerError(f"{error} Reload the task: it may have other data by now.") from error


@dataclass(frozen=True)
class LocalDataset:
    """Stored arrays [n, ...] and which examples are held out [n]; `broken` says what was left out and why.

    `partition` is set where all clients have these same examples, and parts of them are dealt out.
    """

    fitted: Fitted
    x: list[NDArray[Any]]
    y: list[NDArray[Any]]
    held_out: NDArray[np.bool_]
    classes: dict[str, int]
    broken: list[str]
    partition: PartitionedData | None = None

    def for_bundle(self, manifest: Manifest) -> LocalData:
        """The examples as the graphs take them. Raises DataError when the model takes others."""
        check_fits(self.fitted, manifest)
        return LocalData(
            self._part(manifest, ~self.held_out), self._part(manifest, self.held_out), self.partition
        )

    def _part(self, manifest: Manifest, rows: NDArray[np.bool_]) -> Examples:
        weights = np.ones(np.count_nonzero(rows), np.float32)
        return load_examples([one[rows] for one in self.x], [one[rows] for one in self.y], weights, manifest)


def read_local_data(
    path: Path, fitted: Fitted, limits: VolunteerData, is_canceled: Callable[[], bool] = lambda: False
) -> LocalDataset:
    """The data at `path`; the share `limits.holdout` is held out for measuring, always the same examples.

    Files and rows that are broken are left out. Raises DataError when fewer examples than wanted, or more,
    are left, and once `is_canceled` says so.
    """
    broken: list[str] = []

    def note(error: DataError) -> None:
        broken.append(str(error))

    split = HoldoutSplit(limits.holdout, lambda n: permutation(0, 0, _checked_count(path, n, limits.maximum)))
    made = _read(path, fitted, split, note, is_canceled)
    count = sum(len(chunk.held_out) for chunk in made)
    if count < limits.minimum:
        raise DataError(_too_few(path, count, limits.minimum, broken))
    _checked_count(path, count, limits.maximum)
    local_data = _joined(fitted, made, broken)
    if local_data.held_out.all():
        raise DataError(f"{path} leaves no example to train on once some are held out; bring more.")
    return local_data


def read_shared_data(
    path: Path, fitted: Fitted, holdout: float, is_canceled: Callable[[], bool] = lambda: False
) -> LocalDataset:
    """The data at `path`, which have to be good to the last example: all clients number them alike.

    Raises DataError.
    """
    split = HoldoutSplit(holdout, lambda n: permutation(0, 0, _checked_count(path, n, MAX_EXAMPLES)))
    return _joined(fitted, _read(path, fitted, split, stop, is_canceled), [])


def _read(
    path: Path, fitted: Fitted, split: HoldoutSplit, broken: Broken, is_canceled: Callable[[], bool]
) -> list[ExampleChunk]:
    made = []
    for chunk in chunks(fitted, path, split, broken):
        if is_canceled():
            raise DataError(f"{path} was not read to its end.")
        made.append(chunk)
    return made


def _joined(fitted: Fitted, made: list[ExampleChunk], broken: list[str]) -> LocalDataset:
    if not made:
        raise DataError("The data hold no example.")
    x = [np.concatenate(parts) for parts in zip(*(chunk.x for chunk in made), strict=True)]
    y = [np.concatenate(parts) for parts in zip(*(chunk.y for chunk in made), strict=True)]
    held = np.concatenate([chunk.held_out for chunk in made])
    return LocalDataset(fitted, x, y, held, count_classes(fitted, y), broken)


def _too_few(path: Path, count: int, minimum: int, broken: list[str]) -> str:
    text = f"{path} gives {count:,} examples; this task takes at least {minimum:,}. Bring more."
    if broken:
        text += f" {len(broken):,} were left out, the first because: {broken[0]}"
    return text


def _checked_count(path: Path, n: int, maximum: int) -> int:
    most = min(maximum, MAX_EXAMPLES)
    if n > most:
        raise DataError(f"{path} gives {n:,} examples; this task takes at most {most:,}. Bring fewer.")
    return n
