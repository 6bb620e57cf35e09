"""Work units over real sockets, with their parameters in a real database and servers that are processes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import numpy as np
import psycopg
import pytest
from redis import Redis

from backend.wire.unit_messages import Board, Counted, Unit
from tests.integration.server.conftest import Serve
from tests.integration.server.units.test_unit_metrics import figures
from tests.integration.server.units.test_work_units import ALONE, ONES, done, fetched
from tests.support.environment.databases import serving_postgres, serving_redis
from tests.support.tasks.tiny_task import SHARDS, SIZE
from tests.support.timeouts import PATIENCE
from tests.support.web.server_process import Server
from tests.support.web.unit_client import UnitClient

PLACES = ["redis", "redis in shards", "postgresql"]


@pytest.fixture(scope="module")
def addresses() -> Iterator[dict[str, str]]:
    """Of each place, in servers of the test's own."""
    with serving_redis() as redis, serving_postgres() as postgres:
        places = (redis.address, f"{redis.address}?shards=3", postgres.address)
        yield dict(zip(PLACES, places, strict=True))


@pytest.mark.parametrize("place", PLACES)
async def test_a_model_is_trained_whose_parameters_stand_in_a_database(
    units: Serve, addresses: dict[str, str], place: str
) -> None:
    assimilation = {"name": "vc-asgd", "alpha": 0.5}
    server = units("--parameters", addresses[place], epochs=2, trust=ALONE, assimilation=assimilation)
    async with UnitClient(server.url) as client:
        await client.ready()
        for number in range(2 * SHARDS):
            unit = await client.next(Unit)
            assert unit.base == number
            assert await client.weights(unit) == pytest.approx(np.arange(SIZE) + 0.5 * number)
            assert isinstance(await done(client, unit), Counted)
        while (await client.next(Board)).phase != "finished":
            pass
    summary = server.get("/api/tasks/tiny")
    made = await asyncio.to_thread(fetched, server, summary["weights"])
    assert np.frombuffer(made or b"", "<f4") == pytest.approx(np.arange(SIZE) + SHARDS)
    assert server.stop() == 0
    assert left(addresses[place]) == 0


async def test_results_that_come_at_one_time_are_all_taken_in_by_three_servers(
    units: Serve, addresses: dict[str, str]
) -> None:
    flags = ("--parameters", addresses["postgresql"], "--parameter-servers", "3")
    server = units(*flags, epochs=1, trust=ALONE, assimilation={"name": "downpour"})
    async with UnitClient(server.url) as client:
        await client.ready(SHARDS)
        for unit in await client.units(SHARDS):
            await client.deliver(unit, ONES, steps=2)
        async with asyncio.timeout(PATIENCE):
            while (await client.next(Board)).phase != "finished":
                pass
    made = await asyncio.to_thread(fetched, server, server.get("/api/tasks/tiny")["weights"])
    assert np.frombuffer(made or b"", "<f4") == pytest.approx(np.arange(SIZE) + SHARDS)


async def test_results_that_wait_for_the_database_are_the_backlog(
    units: Serve, addresses: dict[str, str]
) -> None:
    place = addresses["postgresql"]
    flags = ("--parameters", place, "--parameter-servers", "1")
    server = units(*flags, epochs=1, trust=ALONE, assimilation={"name": "downpour"})
    async with UnitClient(server.url) as client, asyncio.timeout(PATIENCE):
        await client.ready(SHARDS)
        given = await client.units(SHARDS)
        with psycopg.connect(place) as busy:
            busy.execute("SELECT * FROM minga_parameters FOR UPDATE")
            for unit in given:
                await client.deliver(unit, ONES, steps=2)
            # The one server has one of them, and waits for its row.
            while await asyncio.to_thread(backlog, server) < SHARDS - 1:  # noqa: ASYNC110 - a process counts it.
                await asyncio.sleep(0.1)
        while (await client.next(Board)).phase != "finished":
            pass
    assert await asyncio.to_thread(backlog, server) == 0


async def test_a_database_that_is_away_is_told_at_once_and_its_results_count_when_it_is_back(
    units: Serve,
) -> None:
    with serving_postgres() as own:
        server = units("--parameters", own.address, epochs=1, trust=ALONE, assimilation={"name": "downpour"})
        async with UnitClient(server.url) as client, asyncio.timeout(PATIENCE):
            await client.ready(SHARDS)
            given = await client.units(SHARDS)
            await asyncio.to_thread(own.stop)
            for unit in given:
                await client.deliver(unit, ONES, steps=2)
            assert "PostgreSQL" in await trouble(server)
            await asyncio.to_thread(own.start)
            while (await client.next(Board)).phase != "finished":
                pass
        summary = await asyncio.to_thread(server.get, "/api/tasks/tiny")
        assert summary["trouble"] is None
        made = await asyncio.to_thread(fetched, server, summary["weights"])
        assert np.frombuffer(made or b"", "<f4") == pytest.approx(np.arange(SIZE) + SHARDS)
        assert server.stop() == 0


async def trouble(server: Server) -> str:
    """What the task says of its store, once it fails."""
    while True:
        reason: str | None = (await asyncio.to_thread(server.get, "/api/tasks/tiny"))["trouble"]
        if reason is not None:
            return reason
        await asyncio.sleep(0.05)


def backlog(server: Server) -> float:
    """Results that wait for a parameter server."""
    return figures(server)["minga_backlog"]


def left(address: str) -> int:
    """What stands in the database."""
    if address.startswith("redis"):
        with Redis.from_url(address.partition("?")[0]) as redis:
            return len(list(redis.scan_iter("minga:*")))
    with psycopg.connect(address) as connection:
        row = connection.execute("SELECT count(*) FROM minga_parameters").fetchone()
        assert row is not None
        return int(row[0])
