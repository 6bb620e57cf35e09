"""Runs the transactions of stores that share a database in one thread, and translates its errors."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, IntegrityError

from backend.errors import RecordedBeforeError, StoreError
from backend.stores import schema
from backend.stores.error_translation import BY_ERRNO, DAMAGED, translated

Result = TypeVar("Result")
# What to do about an error of a database, by words of its text.
_BY_WORDS = {
    "disk is full": BY_ERRNO[errno.ENOSPC],
    "disk I/O error": "the disk reports an error, or files may not become that large. Check both",
    "readonly": BY_ERRNO[errno.EROFS],
    "locked": "another program holds the database. Stop the other server on this data folder",
    "malformed": DAMAGED,
    "not a database": DAMAGED,
    "unable to open": "permission is missing. Change the folder's owner or choose another with --data-dir",
}


@contextmanager
def database_translated(doing: str) -> Iterator[None]:
    """Raises StoreError(`doing`: reason) for errors of the database or the operating system."""
    try:
        with translated(doing):
            yield
    except IntegrityError as error:
        raise RecordedBeforeError(f"{doing}: that is recorded already ({error.orig}).") from error
    except DBAPIError as error:
        text = str(error.orig)
        reason = next((words for sign, words in _BY_WORDS.items() if sign in text), text)
        raise StoreError(f"{doing}: {reason}.") from error


class Database:
    """Owns the engine and the one thread in which all calls run. `place` names the database in errors."""

    def __init__(self, engine: Engine, place: str) -> None:
        self._engine, self._place = engine, place
        self._thread = ThreadPoolExecutor(1, "records")
        with database_translated(f"The records in {place} cannot be opened"):
            schema.upgrade(engine, place)

    async def do(self, work: Callable[[Connection], Result]) -> Result:
        """Runs `work` in the store's thread as one transaction and returns its result. Raises StoreError."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._transaction, work)

    async def close(self) -> None:
        """Closes the database after the transactions that were requested before."""
        await self.do(lambda _connection: None)
        self._engine.dispose()
        self._thread.shutdown()

    def _transaction(self, work: Callable[[Connection], Result]) -> Result:
        with (
            database_translated(f"The records in {self._place} cannot be used"),
            self._engine.begin() as connection,
        ):
            return work(connection)
