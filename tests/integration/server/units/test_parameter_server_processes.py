"""Parameter servers as processes, on real databases: who dies is replaced, and nothing counts twice."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager
from functools import partial
from pathlib import Path

import numpy as np
import psutil
import pytest

from backend.errors import StoreError, TakenOverError
from backend.numerics.aggregation.asynchronous import (
    Assimilate,
    ClientResult,
    Memory,
    downpour,
    fedbuff,
    no_memory,
)
from backend.numerics.vectors import Vector
from backend.protocols.units.server_pool import USUAL, PoolRules
from backend.server.units.parameters.parameter_server import Recipe
from backend.server.units.parameters.server_pool import ParameterServers
from backend.stores.parameters.contract import ParametersGoneError
from backend.stores.parameters.place import ParameterAddress
from tests.support.environment.databases import Postgres, Redis, serving_postgres, serving_redis
from tests.support.timeouts import PATIENCE

SIZE = 5000
ZEROS = np.zeros(SIZE, np.float32)
ONE = ClientResult(np.ones(SIZE, np.float32), ZEROS)
THREE = PoolRules(least=3, most=3)


@pytest.fixture(scope="module")
def redis() -> Iterator[Redis]:
    with serving_redis() as server:
        yield server


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with serving_postgres() as server:
        yield server


@asynccontextmanager
async def serving(
    address: str, recipe: Recipe = downpour, rules: PoolRules = USUAL
) -> AsyncIterator[ParameterServers]:
    """Servers that began with zeros at base 0."""
    servers = ParameterServers(ParameterAddress(address, "digits", "run"), recipe, rules)
    await servers.begin(ZEROS, no_memory(), 0)
    try:
        yield servers
    finally:
        await servers.stop()


def dying(marker: Path, at: int) -> Assimilate:
    """Adds changes; the process that does so first is killed at its call number `at`."""
    add, calls = downpour(), iter(range(1000))

    def assimilate(params: Vector, result: ClientResult, memory: Memory) -> tuple[Vector, Memory]:
        if next(calls) == at and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return add(params, result, memory)

    return assimilate


async def test_in_redis_every_result_is_either_taken_in_or_counted_as_lost(redis: Redis) -> None:
    async with serving(redis.address, rules=THREE) as servers:
        receipts = await asyncio.gather(*(servers.assimilate(ONE, 0, str(turn)) for turn in range(30)))
        assert {receipt.base for receipt in receipts} == set(range(1, 31))
        stored = await servers.read()
        np.testing.assert_array_equal(stored.weights, np.full(SIZE, 30 - servers.lost, np.float32))


@pytest.mark.parametrize(("database", "shards"), [("postgres", ""), ("redis", ""), ("redis", "?shards=5")])
async def test_a_shift_among_results_is_in_the_model_once(
    request: pytest.FixtureRequest, database: str, shards: str
) -> None:
    change = 100 * ONE.weights
    async with serving(f"{request.getfixturevalue(database).address}{shards}", rules=THREE) as servers:
        jobs = [asyncio.create_task(servers.assimilate(ONE, 0, str(turn))) for turn in range(12)]
        shift = asyncio.create_task(servers.shift(change, "shift"))
        jobs += [asyncio.create_task(servers.assimilate(ONE, 0, f"after {turn}")) for turn in range(12)]
        receipt = await shift
        assert receipt.base == 13
        # Results that servers of Redis overwrite are missing in the memory, too.
        assert receipt.memory.count <= 12
        assert receipt.memory.count == 12 or database == "redis"
        await asyncio.gather(*jobs)
        stored = await servers.read()
        assert stored.base == 25
        # What servers of Redis overwrite are results, of which there are 24, and never the shift.
        assert ((stored.weights > 100) & (stored.weights <= 124)).all()
        assert (stored.weights == 124).all() or database == "redis"
        again = await servers.shift(change, "shift")
        assert again.base == 25
        np.testing.assert_array_equal(again.weights, stored.weights)


async def test_in_shards_parts_of_results_are_counted(redis: Redis) -> None:
    async with serving(f"{redis.address}?shards=5", rules=THREE) as servers:
        await asyncio.gather(*(servers.assimilate(ONE, 0, str(turn)) for turn in range(30)))
        stored = await servers.read()
        assert stored.base == 30
        assert float(stored.weights.mean()) <= 30


async def test_in_postgres_nothing_is_lost(postgres: Postgres) -> None:
    async with serving(postgres.address, rules=THREE) as servers:
        receipts = await asyncio.gather(*(servers.assimilate(ONE, 0, str(turn)) for turn in range(30)))
        assert {receipt.base for receipt in receipts} == set(range(1, 31))
        np.testing.assert_array_equal((await servers.read()).weights, 30 * ONE.weights)
        assert servers.lost == 0


async def test_what_an_assimilation_remembers_comes_back_with_its_receipt(redis: Redis) -> None:
    """Bit by bit what the recipe does without any store."""
    dice = np.random.default_rng(1)
    recipe, weights, memory = fedbuff(3), ZEROS, no_memory()
    async with serving(redis.address, partial(fedbuff, 3)) as servers:
        for turn in range(4):
            trained, base = dice.standard_normal((2, SIZE), np.float32)
            result = ClientResult(trained, base)
            weights, memory = recipe(weights, result, memory)
            receipt = await servers.assimilate(result, turn, str(turn))
            np.testing.assert_array_equal(receipt.weights, weights)
            np.testing.assert_array_equal(receipt.memory.slot, memory.slot)
            assert (receipt.memory.count, receipt.staleness) == (turn + 1, 0)


async def test_a_result_of_another_model_is_refused_and_the_servers_go_on(redis: Redis) -> None:
    short, long = np.zeros(3, np.float32), np.zeros(SIZE + 1, np.float32)
    async with serving(redis.address) as servers:
        for wrong in (ClientResult(short, short), ClientResult(long, long), ClientResult(ZEROS, short)):
            with pytest.raises(ValueError, match="different models"):
                await servers.assimilate(wrong, 0, "a")
        assert (await servers.assimilate(ONE, 0, "b")).base == 1


@pytest.mark.parametrize("at", [0, 2])
async def test_a_server_that_is_killed_half_way_is_replaced_and_its_result_counts_once(
    redis: Redis, tmp_path: Path, at: int
) -> None:
    recipe = partial(dying, tmp_path / "killed", at)
    async with serving(f"{redis.address}?shards=5", recipe) as servers:
        with pytest.raises(StoreError, match="process died"):
            await servers.assimilate(ONE, 0, "a")
        assert (tmp_path / "killed").exists()
        receipt = await servers.assimilate(ONE, 0, "a")
        assert (receipt.base, receipt.lost) == (1, 0)
        np.testing.assert_array_equal((await servers.read()).weights, ONE.weights)


async def test_a_redis_that_was_restarted_empty_gets_back_what_stood_there() -> None:
    with serving_redis() as own:
        async with serving(own.address) as servers:
            await servers.assimilate(ONE, 0, "a")
            own.stop()
            own.start()
            receipt = await servers.assimilate(ONE, 1, "b")
            assert receipt.base == 2
            np.testing.assert_array_equal(receipt.weights, 2 * ONE.weights)


@pytest.mark.parametrize("serving_own", [serving_postgres, serving_redis])
async def test_a_database_that_is_away_is_an_error_and_the_result_can_be_brought_again(
    serving_own: Callable[[], AbstractContextManager[Postgres | Redis]],
) -> None:
    with serving_own() as own:
        async with serving(own.address) as servers:
            await servers.assimilate(ONE, 0, "a")
            own.stop()
            with pytest.raises(StoreError, match="cannot be used"):
                await servers.assimilate(ONE, 1, "b")
            own.start()
            receipt = await servers.assimilate(ONE, 1, "b")
            assert receipt.base == 2
            np.testing.assert_array_equal(receipt.weights, 2 * ONE.weights)
            own.stop()
            with pytest.raises(StoreError, match="cannot be used"):
                await servers.shift(-ONE.weights, "shift")
            own.start()
            shift = await servers.shift(-ONE.weights, "shift")
            assert (shift.base, shift.memory.count) == (3, 2)
            np.testing.assert_array_equal(shift.weights, ONE.weights)


async def test_a_host_that_was_replaced_is_told_at_once(postgres: Postgres) -> None:
    async with serving(postgres.address) as servers:
        later = ParameterAddress(postgres.address, "digits", "later").open()
        later.begin(ZEROS, no_memory(), 7)
        with pytest.raises(TakenOverError, match="Another server"):
            await servers.assimilate(ONE, 0, "a")
        await servers.stop()
        assert later.read().base == 7
        later.clear()
        later.close()


async def test_servers_that_stop_leave_nothing_in_the_database(redis: Redis) -> None:
    async with serving(redis.address) as servers:
        await servers.assimilate(ONE, 0, "a")
    store = ParameterAddress(redis.address, "digits", "run").open()
    with pytest.raises(ParametersGoneError):
        store.read()
    store.close()


HOST = """
import asyncio, os, signal, sys
import numpy as np, psutil
from backend.numerics.aggregation.asynchronous import ClientResult, downpour, no_memory
from backend.server.units.parameters.server_pool import ParameterServers
from backend.stores.parameters.place import ParameterAddress

async def main():
    servers = ParameterServers(ParameterAddress(sys.argv[1], "digits", "killed"), downpour)
    zeros = np.zeros(9, np.float32)
    await servers.begin(zeros, no_memory(), 0)
    await servers.assimilate(ClientResult(zeros, zeros), 0, "a")
    print(*(child.pid for child in psutil.Process().children()), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

if __name__ == "__main__":
    asyncio.run(main())
"""


def test_processes_end_with_a_host_that_is_killed(redis: Redis, tmp_path: Path) -> None:
    script = tmp_path / "host.py"
    script.write_text(HOST)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, str(script), redis.address]
    ran = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=PATIENCE)
    assert ran.returncode == -signal.SIGKILL, ran.stderr
    children = [
        psutil.Process(int(pid)) for pid in ran.stdout.splitlines()[-1].split() if psutil.pid_exists(int(pid))
    ]
    _gone, alive = psutil.wait_procs(children, timeout=PATIENCE)
    assert [child for child in alive if child.status() != psutil.STATUS_ZOMBIE] == []


@pytest.mark.parametrize("database", ["redis", "postgres"])
async def test_receipts_of_several_servers_come_in_the_order_of_their_bases(
    request: pytest.FixtureRequest, database: str
) -> None:
    told: list[int] = []

    async def bring(turn: int) -> None:
        told.append((await servers.assimilate(ONE, 0, str(turn))).base)

    async with serving(request.getfixturevalue(database).address, rules=THREE) as servers:
        await asyncio.gather(*(bring(turn) for turn in range(40)))
    assert told == list(range(1, 41))
