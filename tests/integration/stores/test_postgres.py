"""The same records in PostgreSQL, in a server of the test's own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio
from sqlalchemy import URL, Engine, create_engine, text

from backend.stores.access import AccessRecords
from backend.stores.alerts import AlertStore
from backend.stores.contracts import Records
from backend.stores.database import Database
from backend.stores.plan_changes import PlanChanges
from backend.stores.records import SqlRecords
from backend.stores.sql_access import SqlAccess
from backend.stores.sql_alerts import SqlAlerts
from backend.stores.sql_plan_changes import SqlPlanChanges
from backend.stores.sql_task_lives import SqlLives
from backend.stores.task_lives import Lives
from tests.support.environment.databases import serving_postgres
from tests.support.store_contracts.access import AccessContract
from tests.support.store_contracts.alerts import AlertsContract
from tests.support.store_contracts.plan_changes import PlanChangesContract
from tests.support.store_contracts.records import RecordsContract
from tests.support.store_contracts.task_lives import LivesContract


@pytest.fixture(scope="module")
def database() -> Iterator[URL]:
    """A server of its own on a free port, and the address of its database."""
    with serving_postgres() as server:
        yield URL.create(
            "postgresql+psycopg", "minga", host="127.0.0.1", port=server.port, database="postgres"
        )


class TestRecordsInPostgres(RecordsContract):
    @pytest_asyncio.fixture
    async def records(self, database: URL) -> AsyncIterator[Records]:
        records = SqlRecords(Database(_empty(database), "PostgreSQL"))
        yield records
        await records.close()


class TestAccessInPostgres(AccessContract):
    @pytest_asyncio.fixture
    async def access(self, database: URL) -> AsyncIterator[AccessRecords]:
        shared = Database(_empty(database), "PostgreSQL")
        yield SqlAccess(shared)
        await shared.close()


class TestLivesInPostgres(LivesContract):
    @pytest_asyncio.fixture
    async def lives(self, database: URL) -> AsyncIterator[Lives]:
        shared = Database(_empty(database), "PostgreSQL")
        yield SqlLives(shared)
        await shared.close()


class TestAlertsInPostgres(AlertsContract):
    @pytest_asyncio.fixture
    async def alerts(self, database: URL) -> AsyncIterator[AlertStore]:
        shared = Database(_empty(database), "PostgreSQL")
        yield SqlAlerts(shared)
        await shared.close()


class TestPlanChangesInPostgres(PlanChangesContract):
    @pytest_asyncio.fixture
    async def plans(self, database: URL) -> AsyncIterator[PlanChanges]:
        shared = Database(_empty(database), "PostgreSQL")
        yield SqlPlanChanges(shared)
        await shared.close()


def _empty(database: URL) -> Engine:
    engine = create_engine(database)
    with engine.begin() as connection:
        connection.execute(text("DROP SCHEMA public CASCADE"))
        connection.execute(text("CREATE SCHEMA public"))
    return engine


async def test_a_server_that_ends_is_a_sentence(database: URL) -> None:
    engine = create_engine(database.set(port=1))
    with pytest.raises(Exception, match="The records in PostgreSQL cannot be opened"):
        SqlRecords(Database(engine, "PostgreSQL"))
