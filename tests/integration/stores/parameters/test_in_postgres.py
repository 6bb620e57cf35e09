"""Parameters in PostgreSQL: servers wait for each other, and nothing is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import psycopg
import pytest

from backend.errors import StoreError, TakenOverError
from backend.numerics.aggregation.asynchronous import ClientResult, downpour, no_memory
from backend.stores.parameters.contract import ParametersGoneError, ParameterStore
from backend.stores.parameters.in_postgres import PostgresParameters
from tests.support.environment.databases import Postgres, serving_postgres
from tests.support.store_contracts.parameters import SIZE, ParameterStoreContract

ZEROS = np.zeros(SIZE, np.float32)
ONE = ClientResult(np.ones(SIZE, np.float32), ZEROS)


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with serving_postgres() as server:
        yield server


@pytest.fixture
def open_store(postgres: Postgres) -> Iterator[Callable[..., PostgresParameters]]:
    """Opens stores of one task in an empty database."""
    with psycopg.connect(postgres.address, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS minga_parameters")
    stores: list[PostgresParameters] = []

    def open_one(run: str = "run") -> PostgresParameters:
        stores.append(PostgresParameters(postgres.address, "digits", run))
        return stores[-1]

    yield open_one
    for store in stores:
        store.close()


class TestParametersInPostgres(ParameterStoreContract):
    @pytest.fixture
    def store(self, open_store: Callable[..., PostgresParameters]) -> ParameterStore:
        return open_store()


def test_servers_that_work_at_one_time_lose_nothing(open_store: Callable[..., PostgresParameters]) -> None:
    stores = [open_store() for _ in range(4)]
    stores[0].begin(ZEROS, no_memory(), 0)

    def take(server: int) -> list[int]:
        turns = range(10)
        return [stores[server].assimilate(downpour(), ONE, 0, f"{server} {turn}").base for turn in turns]

    with ThreadPoolExecutor(4) as threads:
        bases = [base for some in threads.map(take, range(4)) for base in some]
    assert sorted(bases) == list(range(1, 41))
    np.testing.assert_array_equal(stores[0].read().weights, 40 * ONE.weights)


def test_stores_of_the_run_before_write_nothing_any_more(
    open_store: Callable[..., PostgresParameters],
) -> None:
    before, after = open_store("before"), open_store("after")
    before.begin(ZEROS, no_memory(), 0)
    after.begin(ONE.weights, no_memory(), 9)
    with pytest.raises(TakenOverError):
        before.assimilate(downpour(), ONE, 0, "a")
    before.clear()
    assert after.read().base == 9


def test_results_do_not_pile_up_in_the_database(
    postgres: Postgres, open_store: Callable[..., PostgresParameters]
) -> None:
    store = open_store()
    store.begin(ZEROS, no_memory(), 0)
    for turn in range(64):
        store.assimilate(downpour(), ONE, 0, str(turn))
    with psycopg.connect(postgres.address) as connection:
        row = connection.execute("SELECT pg_total_relation_size('minga_parameters')").fetchone()
    assert row is not None
    assert row[0] < 30 * ZEROS.nbytes


def test_a_database_that_crashed_is_empty_and_can_be_begun_with() -> None:
    with serving_postgres() as own:
        store = PostgresParameters(own.address, "digits", "run")
        store.begin(ZEROS, no_memory(), 0)
        store.assimilate(downpour(), ONE, 0, "a")
        own.stop()
        with pytest.raises(StoreError, match="PostgreSQL cannot be used"):
            store.read()
        own.start()
        with pytest.raises(ParametersGoneError):
            store.read()
        store.begin(ONE.weights, no_memory(), 1)
        assert store.assimilate(downpour(), ONE, 1, "b").base == 2
        store.close()


def test_postgres_that_is_not_there_is_a_sentence() -> None:
    store = PostgresParameters("postgresql://minga@127.0.0.1:1/postgres", "digits", "run")
    with pytest.raises(StoreError, match="PostgreSQL cannot be used"):
        store.read()
