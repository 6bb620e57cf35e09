"""Records in SQLite."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, fields
from pathlib import Path
from typing import TypeVar

from sqlalchemy import Connection, Table, create_engine, delete, event, func, insert, select, update
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.pool import ConnectionPoolEntry

from backend.stores import tables
from backend.stores.contracts import (
    Contribution,
    EvaluationRecord,
    RoundRecord,
    RoundResult,
    VersionRecord,
)
from backend.stores.translate import translated

Result = TypeVar("Result")
Row = TypeVar("Row", VersionRecord, EvaluationRecord, RoundRecord, Contribution)

_BUSY_MILLISECONDS = 5000


class SqliteRecords:
    """The embedded `Records`: one file with a write-ahead log; all calls run in one thread of its own."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._engine = create_engine(f"sqlite:///{path}")
        event.listen(self._engine, "connect", _configure)
        self._thread = ThreadPoolExecutor(1, "records")
        with translated(f"The records in {path} cannot be opened"):
            tables.metadata.create_all(self._engine)

    async def open_run(self, task: str, bundle: str) -> int:
        """See Records."""

        def work(connection: Connection) -> int:
            which = (tables.tasks.c.task == task) & (tables.tasks.c.bundle == bundle)
            query = select(tables.tasks.c.run).where(which)
            found: int | None = connection.scalar(query)
            if found is None:
                connection.execute(insert(tables.tasks).values(task=task, bundle=bundle))
                found = connection.execute(query).scalar_one()
            return found

        return await self._do(work)

    async def record(self, run: int, result: RoundResult) -> None:
        """See Records."""

        def work(connection: Connection) -> None:
            connection.execute(insert(tables.rounds).values(run=run, **asdict(result.round)))
            if result.version is not None:
                connection.execute(insert(tables.versions).values(run=run, **asdict(result.version)))
            for contribution in result.contributions:
                _add_contribution(connection, run, contribution)

        await self._do(work)

    async def add_first_version(self, run: int, version: VersionRecord) -> None:
        """See Records."""

        def work(connection: Connection) -> None:
            if not connection.scalar(select(func.count()).where(tables.versions.c.run == run)):
                connection.execute(insert(tables.versions).values(run=run, **asdict(version)))

        await self._do(work)

    async def add_evaluation(self, run: int, evaluation: EvaluationRecord) -> None:
        """See Records."""

        def work(connection: Connection) -> None:
            table = tables.evaluations
            which = (table.c.run == run) & (table.c.version == evaluation.version)
            connection.execute(delete(table).where(which))
            connection.execute(insert(table).values(run=run, **asdict(evaluation)))

        await self._do(work)

    async def last_round(self, run: int) -> int:
        """See Records."""
        query = select(func.max(tables.rounds.c.round)).where(tables.rounds.c.run == run)
        return await self._do(lambda connection: connection.scalar(query) or 0)

    async def versions(self, run: int) -> list[VersionRecord]:
        """See Records."""
        return await self._all(tables.versions, VersionRecord, run, "version")

    async def evaluations(self, run: int) -> list[EvaluationRecord]:
        """See Records."""
        return await self._all(tables.evaluations, EvaluationRecord, run, "version")

    async def rounds(self, run: int) -> list[RoundRecord]:
        """See Records."""
        return await self._all(tables.rounds, RoundRecord, run, "round")

    async def contributions(self, run: int) -> list[Contribution]:
        """See Records."""
        found = await self._all(tables.contributions, Contribution, run, "client")
        return sorted(found, key=lambda one: (-one.accepted, one.client))

    async def close(self) -> None:
        """See Records."""
        await self._do(lambda _connection: None)
        self._engine.dispose()
        self._thread.shutdown()

    async def _all(self, table: Table, kind: type[Row], run: int, order: str) -> list[Row]:
        columns = [table.c[one.name] for one in fields(kind)]
        query = select(*columns).where(table.c.run == run).order_by(table.c[order])
        return await self._do(lambda connection: [kind(*row) for row in connection.execute(query)])

    async def _do(self, work: Callable[[Connection], Result]) -> Result:
        """Runs `work` in the store's thread as one transaction."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._transaction, work)

    def _transaction(self, work: Callable[[Connection], Result]) -> Result:
        with translated(f"The records in {self._path} cannot be used"), self._engine.begin() as connection:
            return work(connection)


def _add_contribution(connection: Connection, run: int, more: Contribution) -> None:
    table = tables.contributions
    which = (table.c.run == run) & (table.c.client == more.client)
    changed = connection.execute(
        update(table)
        .where(which)
        .values(
            kind=more.kind,
            backend=more.backend,
            accepted=table.c.accepted + more.accepted,
            refused=table.c.refused + more.refused,
            examples=table.c.examples + more.examples,
        )
    )
    if not changed.rowcount:
        connection.execute(insert(table).values(run=run, **asdict(more)))


def _configure(connection: DBAPIConnection, _entry: ConnectionPoolEntry) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode = WAL")
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.execute(f"PRAGMA busy_timeout = {_BUSY_MILLISECONDS}")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.close()
