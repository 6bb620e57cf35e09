"""Stores the lives of tasks in a database that SQLAlchemy supports."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, delete, insert, select

from backend.protocols.tasks.task_life import Life, LifeState
from backend.stores.database import Database
from backend.stores.tables import bans, lives
from backend.stores.task_lives import Ban


class SqlLives:
    """Implements Lives."""

    def __init__(self, database: Database) -> None:
        self._do = database.do

    async def life(self, task: str) -> Life | None:
        """See Lives."""
        query = select(lives).where(lives.c.task == task)
        row: Any = await self._do(lambda connection: connection.execute(query).first())
        if row is None:
            return None
        return Life(
            LifeState(row.state),
            LifeState(row.running),
            LifeState(row.ended),
            row.by_owner,
            row.reason,
            row.since,
        )

    async def set_life(self, task: str, life: Life) -> None:
        """See Lives."""

        def work(connection: Connection) -> None:
            connection.execute(delete(lives).where(lives.c.task == task))
            connection.execute(
                insert(lives).values(
                    task=task,
                    state=str(life.state),
                    running=str(life.running),
                    ended=str(life.ended),
                    by_owner=life.by_owner,
                    reason=life.reason,
                    since=life.since,
                )
            )

        await self._do(work)

    async def forget_life(self, task: str) -> None:
        """See Lives."""

        def work(connection: Connection) -> None:
            for table in (lives, bans):
                connection.execute(delete(table).where(table.c.task == task))

        await self._do(work)

    async def bans(self, task: str) -> list[Ban]:
        """See Lives."""
        columns = bans.c.client, bans.c.reason, bans.c.since
        query = select(*columns).where(bans.c.task == task).order_by(bans.c.since, bans.c.client)
        return await self._do(lambda connection: [Ban(*row) for row in connection.execute(query)])

    async def ban(self, task: str, ban: Ban) -> None:
        """See Lives."""

        def work(connection: Connection) -> None:
            connection.execute(_delete_ban(task, ban.client))
            row = {"task": task, "client": ban.client, "reason": ban.reason, "since": ban.since}
            connection.execute(insert(bans).values(row))

        await self._do(work)

    async def unban(self, task: str, client: str) -> None:
        """See Lives."""
        await self._do(lambda connection: connection.execute(_delete_ban(task, client)))


def _delete_ban(task: str, client: str) -> Any:
    return delete(bans).where(bans.c.task == task, bans.c.client == client)
