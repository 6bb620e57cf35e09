"""A server is killed whose parameters stand in a database: its checkpoint says what the next one has."""

from __future__ import annotations

import asyncio
import json
import random
import signal
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from backend.numerics.vectors import Vector
from backend.server.units.checkpoint_codec import decode_checkpoint
from backend.wire.unit_messages import Unit
from tests.integration.server.units.test_killed_server import served, train, until_kept
from tests.integration.server.units.test_work_units import ALONE
from tests.support.environment.databases import serving_postgres, serving_redis
from tests.support.tasks.tiny_task import SIZE, write_units
from tests.support.web.server_process import running
from tests.support.web.unit_client import UnitClient
from tests.support.web.visitors import operator

BEGAN = np.arange(SIZE, dtype="<f4")
SERVERS, CLIENTS, KILLS = 3, 3, 3
REDIS_KILLS = 5


@pytest.fixture(params=["redis in shards", "postgresql"])
def place(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of an empty database of the test's own."""
    if request.param == "postgresql":
        with serving_postgres() as postgres:
            yield postgres.address
    else:
        with serving_redis() as redis:
            yield f"{redis.address}?shards=3"


@dataclass(frozen=True)
class Kept:
    """What a server's folder keeps: results in the model, its weights, and the shards of all results.

    `lost` of them were overwritten, as the checkpoint says, and `row` as its newest result says.
    """

    base: int
    weights: Vector
    shards: Counter[int]
    lost: float = 0.0
    row: float = 0.0


def checkpoint(data: Path) -> Kept:
    """What a server went on from, or the next one will."""
    with closing(sqlite3.connect(data / "records.sqlite")) as records:
        found = records.execute("SELECT base, weights, content FROM checkpoints").fetchone()
        rows = records.execute("SELECT shard, lost FROM assimilations ORDER BY number").fetchall()
    shards = Counter(shard for shard, _ in rows)
    if found is None:
        return Kept(0, BEGAN, shards)
    base, address, content = found
    (file,) = (data / "blobs").glob(f"??/{address}")
    weights = np.frombuffer(file.read_bytes(), "<f4")
    return Kept(base, weights, shards, decode_checkpoint(content).lost, rows[-1][1] if rows else 0.0)


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long)])
async def test_what_the_checkpoint_says_is_what_the_restarted_server_has(
    tmp_path: Path, place: str, seed: int
) -> None:
    folder = write_units(
        tmp_path / "tasks" / "tiny", epochs=1000, trust=ALONE, assimilation={"name": "downpour"}
    )
    index = json.loads((folder / "shards" / "shards.json").read_text("utf-8"))
    order, chance = [one["sha256"] for one in index["train"]], random.Random(seed)
    flags = ("--parameters", place, "--parameter-servers", str(SERVERS))
    for _ in range(KILLS):
        async with AsyncExitStack() as stack:
            server = stack.enter_context(served(tmp_path, *flags))
            before = checkpoint(tmp_path / "data")
            clients = [await stack.enter_async_context(UnitClient(server.url)) for _ in range(CLIENTS)]
            works = [asyncio.create_task(train(client, order)) for client in clients]
            await until_kept(tmp_path, before.shards.total() + 1)
            await asyncio.sleep(chance.uniform(0.0, 2.0))
            server.stop(signal.SIGKILL)
            await asyncio.gather(*works, return_exceptions=True)
        kept = checkpoint(tmp_path / "data")
        assert kept.base > before.base
        if not place.startswith("redis"):
            # Each result moved the value of its shard by one, and Redis alone may have lost some.
            assert kept.base == kept.shards.total()
            assert (kept.weights - BEGAN).tolist() == [kept.shards[shard] for shard in range(SIZE)]
        with running(tmp_path / "tasks", tmp_path / "data", *flags) as again:
            async with UnitClient(again.url) as client:
                await client.ready()
                unit = await client.next(Unit)
                assert unit.base == kept.base
                assert (await client.weights(unit)).tolist() == kept.weights.tolist()


@pytest.mark.long
async def test_over_five_kills_the_record_says_how_many_results_are_in_the_weights(tmp_path: Path) -> None:
    """Each result adds one to one value, so the weights count the results that three servers left in them."""
    folder = write_units(
        tmp_path / "tasks" / "tiny", epochs=1000, trust=ALONE, assimilation={"name": "downpour"}
    )
    index = json.loads((folder / "shards" / "shards.json").read_text("utf-8"))
    order, chance = [one["sha256"] for one in index["train"]], random.Random(5)
    with serving_redis() as redis:
        flags = ("--parameters", redis.address, "--parameter-servers", str(SERVERS))
        for _ in range(REDIS_KILLS):
            async with AsyncExitStack() as stack:
                server = stack.enter_context(served(tmp_path, *flags))
                before = checkpoint(tmp_path / "data")
                clients = [await stack.enter_async_context(UnitClient(server.url)) for _ in range(CLIENTS)]
                works = [asyncio.create_task(train(client, order)) for client in clients]
                await until_kept(tmp_path, before.shards.total() + 1)
                await asyncio.sleep(chance.uniform(1.0, 3.0))
                server.stop(signal.SIGKILL)
                await asyncio.gather(*works, return_exceptions=True)
            kept = checkpoint(tmp_path / "data")
            assert kept.base == kept.shards.total() > before.base
            assert kept.lost == kept.row >= 0
            assert float((kept.weights - BEGAN).sum()) == kept.base - kept.lost
        with running(tmp_path / "tasks", tmp_path / "data", *flags) as again:
            board = operator(again).ask("GET", "/api/tasks/tiny/units")
            assert (board["base"], board["servers"]["lost"]) == (kept.base, kept.lost)
            assert board["in_model"] == kept.base - kept.lost
