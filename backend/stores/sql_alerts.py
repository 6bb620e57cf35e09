"""Stores alerts in a database that SQLAlchemy supports."""

from __future__ import annotations

from sqlalchemy import Connection, delete, func, insert, select, update

from backend.stores.alerts import MAX_KEPT, Alert
from backend.stores.database import Database
from backend.stores.tables import alerts

_COLUMNS = (
    alerts.c.id,
    alerts.c.trouble,
    alerts.c.text,
    alerts.c.at,
    alerts.c.cleared,
    alerts.c.acknowledged,
)


class SqlAlerts:
    """Implements AlertStore."""

    def __init__(self, database: Database) -> None:
        self._do = database.do

    async def alerts(self, task: str) -> list[Alert]:
        """See AlertStore."""
        query = select(*_COLUMNS).where(alerts.c.task == task).order_by(alerts.c.id)
        return await self._do(lambda connection: [Alert(*row) for row in connection.execute(query)])

    async def add_alert(
        self, task: str, trouble: str, text: str, at: float, cleared: float | None = None
    ) -> Alert:
        """See AlertStore."""
        values = {"task": task, "trouble": trouble, "text": text[:1000], "at": at, "cleared": cleared}

        def work(connection: Connection) -> Alert:
            id = connection.execute(insert(alerts).values(values).returning(alerts.c.id)).scalar_one()
            newest = select(alerts.c.id).where(alerts.c.task == task).order_by(alerts.c.id.desc())
            oldest = connection.scalars(newest.offset(MAX_KEPT)).all()
            if oldest:
                connection.execute(delete(alerts).where(alerts.c.id.in_(oldest)))
            return Alert(id, trouble, text[:1000], at, cleared)

        return await self._do(work)

    async def clear_alerts(self, task: str, trouble: str, cleared: float) -> None:
        """See AlertStore."""
        which = (alerts.c.task == task) & (alerts.c.trouble == trouble) & alerts.c.cleared.is_(None)
        change = update(alerts).where(which).values(cleared=cleared)
        await self._do(lambda connection: connection.execute(change))

    async def acknowledge(self, task: str, id: int, at: float) -> bool:
        """See AlertStore."""
        which = (alerts.c.task == task) & (alerts.c.id == id)
        change = update(alerts).where(which).values(acknowledged=func.coalesce(alerts.c.acknowledged, at))
        return await self._do(lambda connection: connection.execute(change).rowcount) > 0

    async def forget_alerts(self, task: str) -> None:
        """See AlertStore."""
        removal = delete(alerts).where(alerts.c.task == task)
        await self._do(lambda connection: connection.execute(removal))
