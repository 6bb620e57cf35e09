from __future__ import annotations

import asyncio
import errno
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from sqlalchemy.exc import OperationalError

from backend.errors import StoreError
from backend.stores.blobs import FileBlobs
from backend.stores.contracts import Blobs, Records, RoundResult
from backend.stores.embedded import open_stores
from backend.stores.records import SqliteRecords
from backend.stores.translate import translated
from tests.stores.contract_blobs import DATA, BlobsContract
from tests.stores.contract_records import ANN, FIRST, ROUND, RecordsContract


class TestSqliteRecords(RecordsContract):
    @pytest_asyncio.fixture
    async def records(self, tmp_path: Path) -> AsyncIterator[Records]:
        records = SqliteRecords(tmp_path / "records.sqlite")
        yield records
        await records.close()


class TestFileBlobs(BlobsContract):
    @pytest.fixture
    def blobs(self, tmp_path: Path) -> Blobs:
        return FileBlobs(tmp_path / "blobs")


async def test_records_survive_their_process(tmp_path: Path) -> None:
    records = SqliteRecords(tmp_path / "records.sqlite")
    run = await records.open_run("digits", "x" * 64)
    await records.record(run, RoundResult(ROUND, [ANN], FIRST))
    await records.close()
    again = SqliteRecords(tmp_path / "records.sqlite")
    assert await again.open_run("digits", "x" * 64) == run
    assert await again.versions(run) == [FIRST]
    await again.close()


async def test_calls_from_many_tasks_are_done_one_after_the_other(tmp_path: Path) -> None:
    records = SqliteRecords(tmp_path / "records.sqlite")
    runs = await asyncio.gather(*(records.open_run("digits", "x" * 64) for _ in range(50)))
    assert set(runs) == {1}
    await records.close()


async def test_a_damaged_blob_is_told_when_asked(tmp_path: Path) -> None:
    blobs = FileBlobs(tmp_path)
    address = await blobs.put(DATA)
    place = await blobs.path(address)
    await asyncio.to_thread(place.write_bytes, DATA[:-1])
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
    with pytest.raises(StoreError, match=rf"^Recording: .*{sentence}"), translated("Recording"):
        raise OperationalError("INSERT", {}, sqlite3.OperationalError(text))


def test_what_is_no_database_is_told(tmp_path: Path) -> None:
    (tmp_path / "records.sqlite").write_bytes(b"no database at all" * 100)
    with pytest.raises(StoreError, match="the database is damaged"):
        SqliteRecords(tmp_path / "records.sqlite")


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
