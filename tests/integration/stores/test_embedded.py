from __future__ import annotations

import asyncio
import errno
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio
from sqlalchemy.exc import OperationalError

from backend.errors import StoreError
from backend.stores.access import AccessRecords, AccountRecord
from backend.stores.alerts import AlertStore
from backend.stores.blobs import FileBlobs
from backend.stores.contracts import BlobStore, Records, RoundResult
from backend.stores.database import database_translated
from backend.stores.embedded import open_stores
from backend.stores.plan_changes import PlanChanges
from backend.stores.records import SqlRecords
from backend.stores.sql_access import SqlAccess
from backend.stores.sql_alerts import SqlAlerts
from backend.stores.sql_plan_changes import SqlPlanChanges
from backend.stores.sql_task_lives import SqlLives
from backend.stores.sqlite import sqlite_database, sqlite_records
from backend.stores.task_lives import Lives
from backend.stores.volunteer_devices import VolunteerDevices
from tests.support.store_contracts.access import AccessContract
from tests.support.store_contracts.alerts import AlertsContract
from tests.support.store_contracts.blobs import DATA, BlobsContract
from tests.support.store_contracts.plan_changes import PlanChangesContract
from tests.support.store_contracts.records import ANN, FIRST, LIAR, ROUND, RecordsContract
from tests.support.store_contracts.task_lives import LivesContract
from tests.support.store_contracts.volunteer_devices import VolunteerDevicesContract


class TestRecordsInSqlite(RecordsContract):
    @pytest_asyncio.fixture
    async def records(self, tmp_path: Path) -> AsyncIterator[Records]:
        records = sqlite_records(tmp_path / "records.sqlite")
        yield records
        await records.close()


class TestAccessInSqlite(AccessContract):
    @pytest_asyncio.fixture
    async def access(self, tmp_path: Path) -> AsyncIterator[AccessRecords]:
        database = sqlite_database(tmp_path / "records.sqlite")
        yield SqlAccess(database)
        await database.close()


class TestLivesInSqlite(LivesContract):
    @pytest_asyncio.fixture
    async def lives(self, tmp_path: Path) -> AsyncIterator[Lives]:
        database = sqlite_database(tmp_path / "records.sqlite")
        yield SqlLives(database)
        await database.close()


class TestAlertsInSqlite(AlertsContract):
    @pytest_asyncio.fixture
    async def alerts(self, tmp_path: Path) -> AsyncIterator[AlertStore]:
        database = sqlite_database(tmp_path / "records.sqlite")
        yield SqlAlerts(database)
        await database.close()


class TestPlanChangesInSqlite(PlanChangesContract):
    @pytest_asyncio.fixture
    async def plans(self, tmp_path: Path) -> AsyncIterator[PlanChanges]:
        database = sqlite_database(tmp_path / "records.sqlite")
        yield SqlPlanChanges(database)
        await database.close()


class TestVolunteerDevicesInSqlite(VolunteerDevicesContract):
    @pytest_asyncio.fixture
    async def records(self, tmp_path: Path) -> AsyncIterator[Records]:
        records = sqlite_records(tmp_path / "records.sqlite")
        yield records
        await records.close()

    @pytest_asyncio.fixture
    async def devices(self, tmp_path: Path) -> AsyncIterator[VolunteerDevices]:
        database = sqlite_database(tmp_path / "records.sqlite")
        yield VolunteerDevices(database)
        await database.close()


class TestFileBlobs(BlobsContract):
    @pytest.fixture
    def blobs(self, tmp_path: Path) -> BlobStore:
        return FileBlobs(tmp_path / "blobs")


async def test_records_survive_their_process(tmp_path: Path) -> None:
    records = sqlite_records(tmp_path / "records.sqlite")
    run = await records.open_run("digits", "x" * 64)
    await records.record(run, RoundResult(ROUND, [ANN], FIRST))
    await records.close()
    again = sqlite_records(tmp_path / "records.sqlite")
    assert await again.open_run("digits", "x" * 64) == run
    assert await again.versions(run) == [FIRST]
    await again.close()


async def test_an_account_takes_its_reputations_with_it(tmp_path: Path) -> None:
    database = sqlite_database(tmp_path / "records.sqlite")
    records, access = SqlRecords(database), SqlAccess(database)
    run = await records.open_run("digits", "x" * 64)
    account = AccountRecord("e" * 16, "eve", False, 100.0)
    await access.add_account(account)
    eve = replace(LIAR, subject=f"account {account.id}")
    await records.write_reputations(run, {one.subject: one for one in (eve, LIAR)})
    await access.remove_account(account.id)
    assert await records.reputations(run) == [LIAR]
    await records.close()


async def test_calls_from_many_tasks_are_done_one_after_the_other(tmp_path: Path) -> None:
    records = sqlite_records(tmp_path / "records.sqlite")
    runs = await asyncio.gather(*(records.open_run("digits", "x" * 64) for _ in range(50)))
    assert set(runs) == {1}
    await records.close()


@pytest.mark.parametrize("damage", [DATA[:-1], b"!" + DATA[1:], b""], ids=["short", "changed", "empty"])
async def test_a_damaged_blob_is_told_when_asked_and_mended_when_put_again(
    tmp_path: Path, damage: bytes
) -> None:
    blobs = FileBlobs(tmp_path)
    address = await blobs.put(DATA)
    place = await blobs.path(address)
    await asyncio.to_thread(place.write_bytes, damage)
    with pytest.raises(StoreError, match="is damaged"):
        await blobs.read(address, verify=True)
    assert await blobs.put(DATA) == address
    assert await blobs.read(address, verify=True) == DATA


def test_a_write_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    blobs = FileBlobs(tmp_path)
    with pytest.raises(StoreError, match="cannot be stored"):
        asyncio.run(blobs.put_file(tmp_path / "missing"))
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    blobs = FileBlobs(tmp_path)
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreError, match=r"the disk is full\. Free some space"):
        asyncio.run(blobs.put(DATA))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("database or disk is full", "the disk is full"),
        ("attempt to write a readonly database", "read-only"),
        ("database is locked", "another program holds the database"),
        ("database disk image is malformed", "the database is damaged"),
        ("unable to open database file", "permission is missing"),
        ("something new", "something new"),
    ],
)
def test_errors_of_the_database_are_sentences(text: str, sentence: str) -> None:
    with pytest.raises(StoreError, match=rf"^Recording: .*{sentence}"), database_translated("Recording"):
        raise OperationalError("INSERT", {}, sqlite3.OperationalError(text))


def test_what_is_no_database_is_told(tmp_path: Path) -> None:
    (tmp_path / "records.sqlite").write_bytes(b"no database at all" * 100)
    with pytest.raises(StoreError, match="the database is damaged"):
        sqlite_records(tmp_path / "records.sqlite")


def test_records_that_lost_their_end_are_told(tmp_path: Path) -> None:
    path = tmp_path / "records.sqlite"
    asyncio.run(sqlite_records(path).close())
    path.write_bytes(path.read_bytes()[:-4096])
    with pytest.raises(StoreError, match="the database is damaged"):
        sqlite_records(path)


@pytest.mark.parametrize("loss", ["deleted", "empty"])
async def test_models_without_their_records_are_not_forgotten(tmp_path: Path, loss: str) -> None:
    stores = open_stores(tmp_path)
    address = await stores.blobs.put(DATA)
    await stores.close()
    (tmp_path / "records.sqlite").unlink()
    if loss == "empty":
        (tmp_path / "records.sqlite").touch()
    for _ in range(2):
        with pytest.raises(StoreError, match="missing or empty, but models are there"):
            open_stores(tmp_path)
    assert (tmp_path / "blobs" / address[:2] / address).read_bytes() == DATA


async def test_what_a_killed_write_left_is_swept(tmp_path: Path) -> None:
    blobs = FileBlobs(tmp_path)
    address = await blobs.put(DATA)
    (tmp_path / "new-abc123").write_bytes(b"half")
    assert await blobs.sweep([address]) == 4
    assert os.listdir(tmp_path) == [address[:2]]  # noqa: PTH208 - not blocking for long.


async def test_a_data_folder_belongs_to_one_server(tmp_path: Path) -> None:
    stores = open_stores(tmp_path)
    with pytest.raises(StoreError, match="used by another server"):
        open_stores(tmp_path)
    await stores.close()
    await open_stores(tmp_path).close()


def test_a_data_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="The data folder"):
        open_stores(tmp_path / "file")


def test_a_killed_server_leaves_no_lock(tmp_path: Path) -> None:
    program = (
        "import sys, time; from pathlib import Path; from backend.stores.embedded import open_stores;"
        "kept = open_stores(Path(sys.argv[1])); print('open', flush=True); time.sleep(60)"
    )
    other = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE)
    assert other.stdout is not None
    assert other.stdout.readline() == b"open\n"
    with pytest.raises(StoreError, match="used by another server"):
        open_stores(tmp_path)
    other.send_signal(signal.SIGKILL)
    other.wait()
    other.stdout.close()
    asyncio.run(open_stores(tmp_path).close())
