"""Stores the versions for which this client revealed shares in masked rounds; their updates are spent."""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from backend.errors import PeerError
from backend.peer.data.shared_files import write_durably
from backend.wire.fields import Count

if sys.platform != "win32":
    import fcntl

# A server that renames its run could have a version's updates summed once more: so many runs of a task may
# have this client's shares within a day. The oldest of more than MOST_RUNS are forgotten.
RUNS_A_DAY = 3
DAY = 24 * 3600.0
MOST_RUNS = 1000


class SpentRun(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One run: versions below `spent` are spent; `seconds` (Unix) is the time of the last reveal."""

    spent: Count = 0
    seconds: float = 0.0


Runs = dict[str, SpentRun]


class SpentVersions:
    """The spent versions of one task, by its runs, in a file of `folder`; in memory where that is None.

    Peers of a machine that share the folder share these, too: they may train on the same examples.
    """

    def __init__(self, folder: Path | None, clock: Callable[[], float] = time.time) -> None:
        self._folder = folder
        self._clock = clock
        self._path: Path | None = None
        self._memory: Runs = {}

    def enter(self, task: str) -> None:
        """Switches to the runs of `task`, given by its whole address."""
        if self._folder is not None:
            self._path = self._folder / f"{hashlib.sha256(task.encode()).hexdigest()[:32]}.json"

    def first_unspent(self, run: str) -> int:
        """Returns the first version of `run` whose update may still be summed.

        Raises PeerError if nothing can be stored, or if the task started from the beginning too often.
        """
        with self._opened() as runs:
            known, now = runs.get(run, SpentRun()), self._clock()
            recent = sum(each.seconds > now - DAY for name, each in runs.items() if name != run)
            if not known.spent and recent >= RUNS_A_DAY:
                raise PeerError(
                    f"This task started from the beginning more than {RUNS_A_DAY} times within a day. A "
                    "server could use that to sum one update again and again. Take part tomorrow, or ask its "
                    "owner."
                )
            if run not in runs:
                # Whether a reveal could be stored is found out before others count on this client.
                self._write(runs | {run: known})
        return known.spent

    def spend(self, run: str, version: int) -> None:
        """Stores that `version` of `run` and all before it are spent. Raises PeerError if it cannot."""
        with self._opened() as runs:
            spent = max(version + 1, runs.get(run, SpentRun()).spent)
            self._write(runs | {run: SpentRun(spent, self._clock())})

    @contextmanager
    def _opened(self) -> Iterator[Runs]:
        """Yields the stored runs; meanwhile no other process changes them."""
        if self._path is None:
            yield self._memory
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            lock = os.open(self._path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
            try:
                if sys.platform != "win32":
                    fcntl.flock(lock, fcntl.LOCK_EX)
                yield self._read(self._path)
            finally:
                os.close(lock)
        except (OSError, msgspec.MsgspecError) as error:
            raise PeerError(
                f"{self._path} cannot be read and written ({error}), which says whose sums this peer is in. "
                "Without it no update is masked; make the folder writable, or repair the file."
            ) from error

    def _read(self, path: Path) -> Runs:
        return msgspec.json.decode(path.read_bytes(), type=Runs) if path.exists() else {}

    def _write(self, runs: Runs) -> None:
        newest = sorted(runs.items(), key=lambda item: item[1].seconds)[-MOST_RUNS:]
        self._memory = dict(newest)
        if self._path is not None:
            write_durably(self._path, msgspec.json.encode(self._memory))
