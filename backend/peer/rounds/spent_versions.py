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
# The largest number that a stored run can have.
MOST_SPENT = 2**53 - 1


class SpentRun(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One run: versions below `spent` are spent; `seconds` (Unix) is the time of the last reveal.

    `context` names the round of the last reveal, in hexadecimal; it has the keys of all members.
    """

    spent: Count = 0
    seconds: float = 0.0
    context: str = ""


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
            known = runs.get(run, SpentRun())
            self._limit_runs(runs, run)
            if run not in runs:
                # Whether a reveal could be stored is found out before others count on this client.
                self._write(runs | {run: known})
        return known.spent

    def spend(self, run: str, version: int, context: str) -> None:
        """Stores that `version` of `run` and all before it are spent, in the round with this `context`.

        Raises PeerError if it cannot, or if it was spent in another round meanwhile: by a peer that shares
        the folder. Peers of one folder that are in the same round all spend its version.
        """
        if version >= MOST_SPENT:
            raise PeerError(f"Version {version} is impossibly high; no shares are revealed for it.")
        with self._opened() as runs:
            known, spent = runs.get(run, SpentRun()), version + 1
            if spent < known.spent or (spent == known.spent and context != known.context):
                raise PeerError(
                    f"Another peer of this machine revealed shares for version {known.spent - 1} meanwhile."
                )
            self._limit_runs(runs, run)
            self._write(runs | {run: SpentRun(spent, self._clock(), context)})

    def _limit_runs(self, runs: Runs, run: str) -> None:
        """Raises PeerError if `run` would be one run too many of those with a reveal in the last day."""
        since = self._clock() - DAY
        recent = {name for name, each in runs.items() if each.seconds > since}
        if run not in recent and len(recent) >= RUNS_A_DAY:
            raise PeerError(
                f"This task started from the beginning more than {RUNS_A_DAY} times within a day. A server "
                f"could use that to sum one update repeatedly. Take part tomorrow, or ask its owner."
            )

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
                f"{self._path} cannot be read and written ({error}). It records which sums contain this "
                "peer's updates, and without it no update is masked; make the folder writable, or repair "
                "the file."
            ) from error

    def _read(self, path: Path) -> Runs:
        return msgspec.json.decode(path.read_bytes(), type=Runs) if path.exists() else {}

    def _write(self, runs: Runs) -> None:
        newest = sorted(runs.items(), key=lambda item: item[1].seconds)[-MOST_RUNS:]
        self._memory = dict(newest)
        if self._path is not None:
            write_durably(self._path, msgspec.json.encode(self._memory))
