"""Keeps the single updates of a task's last rounds, in files that no request ever reads.

A file is renamed when it is complete, so that a killed server leaves a round as a whole or none.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Sequence
from pathlib import Path
from threading import Lock
from typing import Any

import structlog
from msgspec import structs

from backend.errors import StoreError
from backend.numerics.vectors import VALUE_BYTES, Vector, to_bytes
from backend.stores.updates.kept_rounds import KeptOutcome, KeptRound, KeptRows, KeptUpdate, read_round

log = structlog.stdlib.get_logger("minga.kept_updates")

_OPEN = "open"
_MIB = 1 << 20


class KeptUpdates:
    """Owns the folder with one task's kept updates: of at most `rounds` rounds, in at most `most_bytes`.

    The kept rounds are consecutive: each made the version that the next one began with. A round that does not
    fit, or that the disk does not take, is not kept, and `problem` says so. Training never fails for it. Any
    thread may call; methods wait for the disk, properties do not.
    """

    def __init__(self, folder: Path, rounds: int, most_bytes: int) -> None:
        self.most_rounds, self.most_bytes = rounds, most_bytes
        self.problem = ""
        self._folder = folder
        self._lock = Lock()
        # Replaced as a whole: properties read it without the lock.
        self._kept: tuple[tuple[KeptRound, int], ...] = ()
        self._rows: list[KeptRows] = []
        self._file: Any = None
        self._open: list[KeptUpdate] = []
        self._size = 0
        self._failure = ""

    def open(self, run: int, versions: Collection[int]) -> None:
        """Reads what is kept of this run, and deletes the rest: rounds with a version not in `versions`."""
        with self._lock:
            try:
                self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                found = [(path, read_round(path)) for path in self._folder.iterdir()]
            except OSError as error:
                self.problem = f"Kept updates cannot be read: {error}."
                return
            kept: list[tuple[KeptRound, int]] = []
            for path, round in found:
                if round and round.run == run and {round.version, round.made} <= set(versions):
                    kept.append((round, path.stat().st_size))
                else:
                    _delete(path)
            self._kept = tuple(sorted(kept, key=lambda one: one[0].made))
            self._drop_before_gaps()
            self._drop_older(max(versions, default=0))
            self._make_room(0)

    @property
    def rounds(self) -> Sequence[KeptRound]:
        """The kept rounds, oldest first."""
        return [round for round, _ in self._kept]

    @property
    def versions(self) -> set[int]:
        """The versions that kept rounds, and those whose rows are open, began with or made."""
        rounds = [*self.rounds, *(one.round for one in self._rows if not one.closed)]
        return {number for round in rounds for number in (round.version, round.made)}

    @property
    def total_bytes(self) -> int:
        """Number of bytes of the kept rounds."""
        return sum(size for _, size in self._kept)

    # The open round.

    def add(self, update: Vector, client: str, weight: float) -> None:
        """Writes an update, float32 [size], of the round that is open."""
        with self._lock:
            self._open.append(KeptUpdate(client, weight))
            self._size = len(update)
            if self._failure or not self._has_room(len(self._open) * self._size * VALUE_BYTES):
                return
            try:
                if self._file is None:
                    self._file = _open_private(self._folder / _OPEN)
                _write(self._file, to_bytes(update))
            except OSError as error:
                self._fail(f"the disk did not take them ({error})")

    def keep(self, outcome: KeptOutcome) -> None:
        """Keeps the updates of the round that is open, and deletes those that are no longer of the last."""
        with self._lock:
            self._drop_older(outcome.made)
            round = KeptRound(size=self._size, updates=self._open, **structs.asdict(outcome))
            trailer = round.trailer
            total = round.row_bytes + len(trailer)
            if self._file is not None and not self._failure and self._has_room(total):
                self._complete(round, trailer, total)
            if self._failure:
                self.problem = f"The updates of round {round.round} were not kept: {self._failure}."
                log.warning("updates not kept", folder=self._folder.name, reason=self.problem)
            self._forget_open()

    def discard(self) -> None:
        """Deletes the updates of the round that is open."""
        with self._lock:
            self._forget_open()

    def open_rows(self) -> list[KeptRows]:
        """Returns the updates of all kept rounds, oldest first; the caller closes them. Raises StoreError."""
        opened: list[KeptRows] = []
        with self._lock:
            try:
                for round, _ in self._kept:
                    opened.append(KeptRows(round, self._path(round)))
            except StoreError:
                for one in opened:
                    one.close()
                raise
            self._rows = [*(one for one in self._rows if not one.closed), *opened]
        return opened

    # Under the lock.

    def _has_room(self, needed: int) -> bool:
        if needed > self.most_bytes:
            self._fail(
                f"its {len(self._open)} updates take {needed / _MIB:.3g} MiB or more, over the limit of "
                f"{self.most_bytes / _MIB:.3g} MiB"
            )
            return False
        self._make_room(needed)
        return True

    def _make_room(self, needed: int) -> None:
        """Deletes the oldest rounds until `needed` more bytes fit."""
        while self._kept and self.total_bytes + needed > self.most_bytes:
            self._drop_first(1)

    def _drop_older(self, newest: int) -> None:
        """Deletes rounds that did not make one of the last versions up to `newest`."""
        self._drop_first(sum(round.made <= newest - self.most_rounds for round, _ in self._kept))

    def _drop_before_gaps(self) -> None:
        """Deletes all before the last gap in the chain of versions."""
        rounds = self.rounds
        gaps = [n for n in range(1, len(rounds)) if rounds[n - 1].made != rounds[n].version]
        self._drop_first(max(gaps, default=0))

    def _drop_first(self, count: int) -> None:
        for round, _ in self._kept[:count]:
            _delete(self._path(round))
        self._kept = self._kept[count:]

    def _complete(self, round: KeptRound, trailer: bytes, total: int) -> None:
        try:
            _write(self._file, trailer)
            os.fsync(self._file.fileno())
            (self._folder / _OPEN).rename(self._path(round))
        except OSError as error:
            self._fail(f"the disk did not take them ({error})")
            return
        self._kept = (*self._kept, (round, total))
        self._drop_before_gaps()
        self.problem = ""

    def _fail(self, reason: str) -> None:
        self._failure = reason
        self._delete_open()

    def _forget_open(self) -> None:
        self._delete_open()
        self._open, self._failure = [], ""

    def _delete_open(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
            _delete(self._folder / _OPEN)

    def _path(self, round: KeptRound) -> Path:
        return self._folder / round.file_name


class KeptUpdateFolders:
    """The folders of all tasks' kept updates, below `root`."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def of_task(self, task: str) -> Path:
        """Returns the folder of a task."""
        return self._root / task

    def forget(self, task: str) -> None:
        """Deletes what is kept of a task. Raises StoreError if that fails."""
        try:
            shutil.rmtree(self._root / task)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise StoreError(f"The kept updates of {task} cannot be deleted: {error}.") from error

    def sweep(self, tasks: Collection[str]) -> None:
        """Deletes what is kept of other tasks than these. Raises StoreError if that fails."""
        for folder in self._root.iterdir() if self._root.is_dir() else ():
            if folder.name not in tasks:
                self.forget(folder.name)


def _write(file: Any, data: bytes | memoryview) -> None:
    """Writes all of `data`. Raises OSError."""
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) :]


def _open_private(path: Path) -> Any:
    """Opens a new file that only the server's user may read. Raises OSError."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb", buffering=0)


def _delete(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        log.warning("kept updates not deleted", file=str(path), reason=str(error))
