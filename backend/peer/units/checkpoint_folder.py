"""Stores the checkpoints of work units in this machine's state folder, and deletes those of no use."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from backend.errors import PeerError
from backend.peer.data.shared_files import write_whole
from backend.peer.training.training_state import TrainingState
from backend.peer.units.unit_checkpoint import (
    UnitOwner,
    checkpoint_name,
    decode_checkpoint,
    encode_checkpoint,
)
from backend.wire.unit_messages import Unit

# Servers wait for no unit as long as this many seconds.
OLDEST = 86_400.0


class CheckpointFile:
    """The checkpoint of one unit in training. After `delete` nothing is written any more."""

    def __init__(self, path: Path, owner: UnitOwner, unit: Unit) -> None:
        self.path = path
        self._owner, self._unit = owner, unit
        self._lock = threading.Lock()
        self._deleted = False

    def read(self) -> TrainingState | None:
        """Returns the saved state; None without one. Deletes a file that is damaged or of another unit."""
        try:
            return decode_checkpoint(self.path.read_bytes(), self._owner, self._unit)
        except FileNotFoundError:
            return None
        except (OSError, PeerError):
            self._remove()
            return None

    def write(self, state: TrainingState) -> None:
        """Writes a state in place of the last one. A full disk loses only this write."""
        with self._lock:
            if not self._deleted:
                with suppress(OSError):
                    write_whole(self.path, encode_checkpoint(self._owner, self._unit, state))

    def delete(self) -> None:
        """Deletes the checkpoint: the unit is over, or somebody else's."""
        with self._lock:
            self._deleted = True
            self._remove()

    def _remove(self) -> None:
        with suppress(OSError):
            self.path.unlink(missing_ok=True)


class CheckpointFolder:
    """The checkpoints of the units of the task at `address`, in a folder below `root`.

    Only one peer of a machine may use it at a time.
    """

    def __init__(self, root: Path, address: str) -> None:
        self._root = root
        self._folder = root / hashlib.sha256(address.encode()).hexdigest()[:32]

    def file(self, owner: UnitOwner, unit: Unit) -> CheckpointFile | None:
        """Returns the file for a unit; None if no later process could continue it.

        A server takes a unit back at once that starts from weights that only this process has.
        """
        if unit.start != "given":
            return None
        return CheckpointFile(self._folder / checkpoint_name(owner, unit), owner, unit)

    def delete_old(self) -> None:
        """Deletes the old files of all tasks, also those that a killed process began to write."""
        oldest = time.time() - OLDEST
        for path in _files(self._root.glob("*/*")):
            with suppress(OSError):
                if path.stat().st_mtime < oldest:
                    path.unlink(missing_ok=True)

    def keep_only(self, files: Iterable[CheckpointFile]) -> None:
        """Deletes this task's checkpoints except `files`: the server gave their units to others."""
        kept = {file.path for file in files}
        for path in _files(self._folder.glob("*.checkpoint")):
            if path not in kept:
                with suppress(OSError):
                    path.unlink(missing_ok=True)


def _files(paths: Iterable[Path]) -> list[Path]:
    with suppress(OSError):
        return list(paths)
    return []
