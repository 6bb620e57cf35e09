"""Stores plan changes in a database that SQLAlchemy supports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from sqlalchemy import Connection, delete, insert, select

from backend.stores.database import Database
from backend.stores.plan_changes import PlanAmendment
from backend.stores.tables import plan_changes


class SqlPlanChanges:
    """Implements PlanChanges."""

    def __init__(self, database: Database) -> None:
        self._do = database.do

    async def plan_changes(self, task: str) -> list[PlanAmendment]:
        """See PlanChanges."""
        table = plan_changes
        columns = table.c.key, table.c.value, table.c.was, table.c.at
        query = select(*columns).where(table.c.task == task).order_by(table.c.key)
        return await self._do(lambda connection: [PlanAmendment(*row) for row in connection.execute(query)])

    async def change_plan(self, task: str, changes: Sequence[PlanAmendment]) -> None:
        """See PlanChanges."""
        table = plan_changes

        def work(connection: Connection) -> None:
            for change in changes:
                same = (table.c.task == task) & (table.c.key == change.key)
                connection.execute(delete(table).where(same))
                connection.execute(insert(table).values(task=task, **asdict(change)))

        await self._do(work)

    async def forget_plan(self, task: str) -> None:
        """See PlanChanges."""
        removal = delete(plan_changes).where(plan_changes.c.task == task)
        await self._do(lambda connection: connection.execute(removal))
