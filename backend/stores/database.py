"""Runs the transactions of all stores that share a database, in one thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from sqlalchemy import Connection, Engine

from backend.stores import schema
from backend.stores.error_translation import translated

Result = TypeVar("Result")


class Database:
    """Owns the engine and the one thread in which all calls run. `place` names the database in errors."""

    def __init__(self, engine: Engine, place: str) -> None:
        self._engine, self._place = engine, place
        self._thread = ThreadPoolExecutor(1, "records")
        with translated(f"The records in {place} cannot be opened"):
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
        with translated(f"The records in {self._place} cannot be used"), self._engine.begin() as connection:
            return work(connection)
