"""Data folders of every age open."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import random
import signal
import sqlite3
import sys
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, event, inspect

from backend.errors import StoreError
from backend.stores import schema, tables
from backend.stores.sqlite import sqlite_engine, sqlite_records
from tests.integration.stores import old_schema
from tests.support.timeouts import HEAVY

KILLS = 20


async def assert_upgraded(path: Path) -> None:
    records = sqlite_records(path)
    try:
        run = await records.open_run("digits", "x" * 64)
        assert await records.versions(run) == old_schema.versions()
        assert await records.rounds(run) == old_schema.rounds()
        assert await records.evaluations(run) == old_schema.evaluations()
        assert await records.contributions(run) == old_schema.CONTRIBUTIONS
    finally:
        await records.close()


async def test_records_from_before_there_were_migrations_are_brought_up_to_date(tmp_path: Path) -> None:
    old_schema.write_old_records(tmp_path / "records.sqlite")
    for _ in range(2):
        await assert_upgraded(tmp_path / "records.sqlite")


@pytest.mark.parametrize("made", range(5))
async def test_a_server_killed_while_it_made_its_first_tables_is_no_matter(tmp_path: Path, made: int) -> None:
    old_schema.write_old_records(tmp_path / "records.sqlite", made)
    records = sqlite_records(tmp_path / "records.sqlite")
    assert await records.open_run("digits", "x" * 64) == 1
    await records.close()


@pytest.mark.parametrize("old", [False, True])
def test_the_migrations_lead_to_the_tables_that_the_code_uses(tmp_path: Path, old: bool) -> None:
    if old:
        old_schema.write_old_records(tmp_path / "records.sqlite")
    engine = sqlite_engine(tmp_path / "records.sqlite")
    schema.migrate(engine)
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), tables.metadata) == []
    engine.dispose()


def described(path: Path, make: Callable[[Engine], None]) -> dict[str, Any]:
    """The columns, keys and indexes of each table that `make` makes in a new database."""
    engine = sqlite_engine(path)
    make(engine)
    found = inspect(engine)
    said = {
        name: {
            "columns": {str(column["name"]): str(column) for column in found.get_columns(name)},
            "key": found.get_pk_constraint(name)["constrained_columns"],
            "foreign": sorted(map(str, found.get_foreign_keys(name))),
            "unique": sorted(map(str, found.get_unique_constraints(name))),
            "indexes": sorted(map(str, found.get_indexes(name))),
        }
        for name in found.get_table_names()
    }
    engine.dispose()
    return said


def test_new_records_have_the_tables_that_the_migrations_lead_to(tmp_path: Path) -> None:
    new = described(tmp_path / "new.sqlite", lambda engine: schema.upgrade(engine, "here"))
    assert len(new) > 20
    assert new == described(tmp_path / "migrated.sqlite", schema.migrate)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9")
async def test_new_records_whose_server_was_killed_while_it_made_them_are_made_again(tmp_path: Path) -> None:
    for statements in range(0, 1000, 5):
        path = tmp_path / f"records-{statements}.sqlite"
        code = Upgrade(path, statements, new=True).end()
        records = sqlite_records(path)
        assert await records.open_run("digits", "x" * 64) == 1
        await records.close()
        if code == 0:
            break
        assert code == -signal.SIGKILL
    assert statements > len(tables.metadata.tables)


def test_the_head_is_the_newest_migration() -> None:
    config = Config()
    config.set_main_option("script_location", str(schema.MIGRATIONS))
    scripts = ScriptDirectory.from_config(config)
    assert [script.revision for script in scripts.walk_revisions()] == list(reversed(schema.KNOWN))
    assert scripts.get_heads() == [schema.HEAD]


def test_records_of_a_newer_program_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "records.sqlite"
    asyncio.run(sqlite_records(path).close())
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    with pytest.raises(StoreError, match=r"written by a newer Minga \(schema 9999.*Install that version"):
        sqlite_records(path)


def upgrade_in_a_process(path: str, begun: Connection, statements: int | None) -> None:
    """Upgrades; dies before it would execute one more than so many `statements`."""
    engine = sqlite_engine(Path(path))
    if statements is not None:
        left = iter(range(statements))

        def count(*_: object) -> None:
            if next(left, None) is None:
                os.kill(os.getpid(), signal.SIGKILL)

        event.listen(engine, "before_cursor_execute", count)
    begun.send("begun")
    schema.upgrade(engine, path)


class Upgrade:
    """One upgrade of old (or new) records in a process of its own, from the moment when it begins."""

    def __init__(self, path: Path, statements: int | None = None, new: bool = False) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["tests.integration.stores.test_migrations", "alembic.command"])
        if not new:
            old_schema.write_old_records(path)
        heard, begun = context.Pipe(duplex=False)
        self.process = context.Process(target=upgrade_in_a_process, args=(str(path), begun, statements))
        self.process.start()
        assert heard.recv() == "begun"
        self._since = time.monotonic()

    def end(self, within: float = 60.0) -> int | None:
        """Its exit code; it is killed when it takes longer."""
        self.process.join(within)
        self.process.kill()
        self.process.join()
        return self.process.exitcode

    def seconds(self) -> float:
        """How long it took."""
        assert self.end() == 0
        return time.monotonic() - self._since


@pytest.mark.timeout(HEAVY)
@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9")
@pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.long)])
async def test_an_upgrade_killed_before_any_of_its_statements_goes_on(tmp_path: Path, every: int) -> None:
    for statements in range(0, 1000, every):
        path = tmp_path / f"records-{statements}.sqlite"
        code = Upgrade(path, statements).end()
        await assert_upgraded(path)
        if code == 0:
            break
        assert code == -signal.SIGKILL
    assert statements > 3 * len(schema.KNOWN)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9")
async def test_an_upgrade_killed_at_any_instant_goes_on(tmp_path: Path) -> None:
    whole = min(Upgrade(tmp_path / f"whole-{number}.sqlite").seconds() for number in range(3))
    chance = random.Random(4)
    for number in range(KILLS):
        path = tmp_path / f"records-{number}.sqlite"
        Upgrade(path).end(within=chance.uniform(0, whole))
        await assert_upgraded(path)
