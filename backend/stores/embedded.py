"""Opens the stores of an embedded deployment: one data folder, used by one server at a time."""

from __future__ import annotations

import shutil
import sqlite3
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile

from backend.errors import StoreError
from backend.stores.access import AccessRecords
from backend.stores.alerts import AlertStore
from backend.stores.blobs import FileBlobs
from backend.stores.contracts import BlobStore, Records
from backend.stores.error_translation import translated
from backend.stores.plan_changes import PlanChanges
from backend.stores.records import SqlRecords
from backend.stores.secret import read_secret
from backend.stores.sql_access import SqlAccess
from backend.stores.sql_alerts import SqlAlerts
from backend.stores.sql_plan_changes import SqlPlanChanges
from backend.stores.sql_task_lives import SqlLives
from backend.stores.sqlite import sqlite_database
from backend.stores.task_lives import Lives
from backend.stores.updates.kept_updates import KeptUpdateFolders
from backend.stores.volunteer_devices import VolunteerDevices

RECORDS = "records.sqlite"
# Temporary files of hosts; a killed server leaves them behind.
SCRATCH = "scratch"
KEPT_UPDATES = "kept_updates"


@dataclass(frozen=True)
class Stores:
    """The stores of a server; owns the lock on its data folder until `close`.

    `secret` is the data folder's own key, which never leaves the server. `scratch` is the path for temporary
    files; its user creates the folder. `kept_updates` are single updates of rounds, for tasks that keep them.
    """

    records: Records
    access: AccessRecords
    lives: Lives
    alerts: AlertStore
    plans: PlanChanges
    devices: VolunteerDevices
    blobs: BlobStore
    lock: sqlite3.Connection
    secret: bytes = field(repr=False)
    scratch: Path
    kept_updates: KeptUpdateFolders

    async def check(self) -> None:
        """Returns if the stores are writable now; raises StoreError otherwise."""
        await self.blobs.check()
        await self.records.check()

    async def close(self) -> None:
        """Closes the stores and releases the folder's lock."""
        await self.records.close()
        self.lock.close()


def open_stores(folder: Path) -> Stores:
    """Opens or creates the stores in `folder`. Raises StoreError when another server uses them."""
    with translated(f"The data folder {folder} cannot be made"):
        folder.mkdir(parents=True, exist_ok=True)
    # SQLite would open read-only files without an error, and fail late with a vague one.
    with translated(f"Nothing can be written into the data folder {folder}"), TemporaryFile(dir=folder):
        pass
    lock = _lock(folder)
    try:
        records = folder / RECORDS
        _refuse_missing_records(records, folder / "blobs")
        shutil.rmtree(folder / SCRATCH, ignore_errors=True)
        # The records come first, so that a folder with blobs always has records.
        database = sqlite_database(records)
        return Stores(
            SqlRecords(database),
            SqlAccess(database),
            SqlLives(database),
            SqlAlerts(database),
            SqlPlanChanges(database),
            VolunteerDevices(database),
            FileBlobs(folder / "blobs"),
            lock,
            read_secret(folder),
            folder / SCRATCH,
            KeptUpdateFolders(folder / KEPT_UPDATES),
        )
    except StoreError:
        lock.close()
        raise


def _refuse_missing_records(records: Path, blobs: Path) -> None:
    """Raises StoreError when a folder has blobs but no records, since its models would be lost."""
    if (not records.is_file() or not records.stat().st_size) and any(blobs.glob("??/*")):
        raise StoreError(
            f"The records {records} are missing or empty, but models are there. Restore the file from a "
            f"backup, or move {blobs} away to start over."
        )


def _lock(folder: Path) -> sqlite3.Connection:
    # An exclusive transaction on a separate file works on every system, and ends when the server is killed.
    try:
        lock = sqlite3.connect(folder / "lock", timeout=0.5, isolation_level=None, check_same_thread=False)
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as error:
        raise StoreError(
            f"The data folder {folder} is used by another server or cannot be written ({error}). "
            "Stop the other one or choose another folder with --data-dir."
        ) from error
    return lock
