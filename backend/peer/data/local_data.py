"""Reads and checks a volunteer's own data by the task's preprocessing; they are never sent."""

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
    """The partition of examples that all clients have: the key of their files and the largest part."""

    key: str
    largest: int


@dataclass(frozen=True)
class LocalData:
    """A client's own examples: those to train on, and those held out for measuring."""

    train: Examples
    holdout: Examples
    partition: PartitionedData | None = None

    def part(self, name: str) -> Examples:
        """Returns the examples of the part `name` that the server assigned.

        Raises PeerError for the name of other data.
        """
        if self.partition is None:
            raise PeerError("This task trains on its clients' own data, and its server assigns none.")
        try:
            half, number = parse_part(self.partition.key, name)
            examples = self.train if half == "train" else self.holdout
            return examples.picked(part_rows(len(examples), self.partition.largest, number))
        except ValueError as error:
            raise PeerError(f"{error} Reload the task: it may have other data by now.") from error


@dataclass(frozen=True)
class LocalDataset:
    """Stored arrays [n, ...] and which examples are held out [n].

    `broken` lists what was left out and why. `partition` is set where all clients have the same examples and
    are assigned parts of them.
    """

    fitted: Fitted
    x: list[NDArray[Any]]
    y: list[NDArray[Any]]
    held_out: NDArray[np.bool_]
    classes: dict[str, int]
    broken: list[str]
    partition: PartitionedData | None = None

    def for_bundle(self, manifest: Manifest) -> LocalData:
        """Returns the examples as the graphs take them. Raises DataError when the model takes other data."""
        check_fits(self.fitted, manifest)
        return LocalData(
            self._part(manifest, ~self.held_out), self._part(manifest, self.held_out), self.partition
        )

    def _part(self, manifest: Manifest, rows: NDArray[np.bool_]) -> Examples:
        weights = np.ones(np.count_nonzero(rows), np.float32)
        return load_examples(
            [values[rows] for values in self.x], [values[rows] for values in self.y], weights, manifest
        )


def read_local_data(
    path: Path, fitted: Fitted, limits: VolunteerData, is_canceled: Callable[[], bool] = lambda: False
) -> LocalDataset:
    """Reads the data at `path`; holds out the share `limits.holdout`, always the same examples.

    Broken files and rows are left out. Raises DataError when fewer or more examples remain than the limits
    allow, and as soon as `is_canceled` returns True.
    """
    broken: list[str] = []

    def note(error: DataError) -> None:
        broken.append(str(error))

    def checked(n: int) -> int:
        return _checked_count(path, n, limits.maximum)

    split = HoldoutSplit(limits.holdout, lambda n: permutation(0, 0, checked(n)))
    loaded = _read(path, fitted, split, note, checked, is_canceled)
    count = sum(len(chunk.held_out) for chunk in loaded)
    if count < limits.minimum:
        raise DataError(_too_few(path, count, limits.minimum, broken))
    local_data = _joined(fitted, loaded, broken)
    if local_data.held_out.all():
        raise DataError(f"{path} leaves no example to train on after some are held out; use more.")
    return local_data


def read_shared_data(
    path: Path, fitted: Fitted, holdout: float, most: int, is_canceled: Callable[[], bool] = lambda: False
) -> LocalDataset:
    """Reads the data at `path`, which must not have a broken example: all clients number them alike.

    Raises DataError, also for more examples than the task says, which are `most`.
    """

    def checked(n: int) -> int:
        if n > most:
            raise DataError(
                f"The files hold {n:,} examples or more; the task says {most:,}. "
                "Tell its owner, who must create it again."
            )
        return n

    split = HoldoutSplit(holdout, lambda n: permutation(0, 0, checked(n)))
    return _joined(fitted, _read(path, fitted, split, stop, checked, is_canceled), [])


def _read(
    path: Path,
    fitted: Fitted,
    split: HoldoutSplit,
    broken: Broken,
    checked: Callable[[int], int],
    is_canceled: Callable[[], bool],
) -> list[ExampleChunk]:
    """Reads the examples into memory. Raises DataError, and what `checked` raises for their number so far."""
    loaded, count = [], 0
    for chunk in chunks(fitted, path, split, broken):
        if is_canceled():
            raise DataError(f"{path} was not read to its end.")
        count = checked(count + len(chunk.held_out))
        loaded.append(chunk)
    return loaded


def _joined(fitted: Fitted, loaded: list[ExampleChunk], broken: list[str]) -> LocalDataset:
    if not loaded:
        raise DataError("The data hold no example.")
    x = [np.concatenate(parts) for parts in zip(*(chunk.x for chunk in loaded), strict=True)]
    y = [np.concatenate(parts) for parts in zip(*(chunk.y for chunk in loaded), strict=True)]
    held_out = np.concatenate([chunk.held_out for chunk in loaded])
    return LocalDataset(fitted, x, y, held_out, count_classes(fitted, y), broken)


def _too_few(path: Path, count: int, minimum: int, broken: list[str]) -> str:
    text = f"{path} gives {count:,} examples; this task takes at least {minimum:,}. Bring more."
    if broken:
        text += f" {len(broken):,} were left out, the first because: {broken[0]}"
    return text


def _checked_count(path: Path, n: int, maximum: int) -> int:
    limit = min(maximum, MAX_EXAMPLES)
    if n > limit:
        raise DataError(f"{path} gives {n:,} examples; this task takes at most {limit:,}. Bring fewer.")
    return n
