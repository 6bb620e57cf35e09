"""Opens the records in SQLite, with its settings and an integrity check."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.pool import ConnectionPoolEntry

from backend.errors import StoreError
from backend.stores.database import Database, database_translated
from backend.stores.records import SqlRecords

_BUSY_MILLISECONDS = 5000


def sqlite_records(path: Path) -> SqlRecords:
    """Opens the embedded `Records` without other stores. Raises StoreError when the file is damaged."""
    return SqlRecords(sqlite_database(path))


def sqlite_database(path: Path) -> Database:
    """Opens the embedded database, a file with a write-ahead log. Raises StoreError when it is damaged."""
    with database_translated(f"The records in {path} cannot be opened"):
        engine = sqlite_engine(path)
        _check_pages(engine, path)
    return Database(engine, str(path))


def sqlite_engine(path: Path) -> Engine:
    """Returns an engine for a database file, whose tables can be altered within transactions."""
    engine = create_engine(f"sqlite:///{path}")
    event.listen(engine, "connect", _configure)
    event.listen(engine, "begin", _begin)
    return engine


def _configure(connection: DBAPIConnection, _entry: ConnectionPoolEntry) -> None:
    # The driver would not begin a transaction before CREATE or ALTER, so `_begin` begins all of them.
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode = WAL")
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.execute(f"PRAGMA busy_timeout = {_BUSY_MILLISECONDS}")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.close()


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN")


def _check_pages(engine: Engine, path: Path) -> None:
    # Without it, a truncated or overwritten file would fail only when a query reaches the missing page.
    with engine.connect() as connection:
        outcome = connection.scalar(text("PRAGMA quick_check(1)"))
    if outcome != "ok":
        raise StoreError(
            f"The records in {path} cannot be opened: the database is damaged ({outcome}). "
            "Restore the data folder or choose another with --data-dir."
        )
