"""Strangers who give all work back would end every epoch with nothing, and wear the server out."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import numpy as np
import pytest

from backend.wire.messages import Leave
from backend.wire.unit_messages import Board, Counted, Idle, Rejected, Release, Unit
from tests.support.attacks.units_server import ALONE, STEPS, units_server
from tests.support.tasks.tiny_task import SHARDS, SIZE
from tests.support.web.server_process import Server
from tests.support.web.unit_client import UnitClient

STRANGERS, SECONDS, NAMES = 12, 2.0, 80
ONES = np.ones(SIZE, np.float32)


async def give_back(client: UnitClient, seconds: float) -> int:
    """Gives every unit back as soon as it comes; returns how many."""
    given = 0
    await client.ready(SHARDS)
    try:
        async with asyncio.timeout(seconds):
            while True:
                unit = await client.next(Unit)
                await client.say(Release(lease=unit.lease, cause="memory"))
                given += 1
    except TimeoutError:
        return given


async def come_and_go(server: Server, names: int) -> int:
    """Takes units and leaves, each time under a new name; returns how many units that were."""
    taken = 0
    for number in range(names):
        async with UnitClient(server.url, address=f"192.0.2.{number}") as client:
            await client.ready()
            taken += isinstance(await client.next(Unit, Idle), Unit)
            await client.say(Leave())
    return taken


async def train(honest: UnitClient, count: int) -> list[int]:
    """An honest client does its work; returns the epochs of its units."""
    seen = []
    for _ in range(count):
        unit = await honest.next(Unit)
        seen.append(unit.epoch)
        await honest.deliver(unit, ONES, steps=STEPS)
        assert isinstance(await honest.next(Counted), Counted)
    return seen


async def crowd_of(server: Server, stack: AsyncExitStack) -> list[UnitClient]:
    """Strangers of one household."""
    clients = [UnitClient(server.url, address=f"192.0.2.{number}") for number in range(STRANGERS)]
    return [await stack.enter_async_context(client) for client in clients]


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("MINGA_TRUSTED_PROXIES", "127.0.0.1")
    with units_server(tmp_path, epochs=2, trust=ALONE | {"newcomers": 1000}) as running:
        yield running


async def test_no_epoch_ends_by_units_that_are_given_back(server: Server) -> None:
    async with AsyncExitStack() as stack:
        crowd = await crowd_of(server, stack)
        await asyncio.gather(*(give_back(client, SECONDS) for client in crowd))
        task = await asyncio.to_thread(server.get, "/api/tasks/tiny")
        assert (task["round"], task["phase"]) == (1, "training")
        # Somebody else trains beside the crowd, which is still there.
        honest = await stack.enter_async_context(UnitClient(server.url, address="198.51.100.7"))
        await honest.ready()
        assert await train(honest, 2 * SHARDS) == [1] * SHARDS + [2] * SHARDS
        while (await honest.next(Board)).phase != "finished":
            pass
    versions = await asyncio.to_thread(server.get, "/api/tasks/tiny/versions")
    assert [version["version"] for version in versions["versions"]] == [0, 1, 2]
    rounds = (await asyncio.to_thread(server.get, "/api/tasks/tiny/rounds"))["rounds"]
    assert [ended["outcome"] for ended in rounds] == ["version", "version"]


async def test_who_gives_work_back_waits_longer_each_time(server: Server) -> None:
    async with AsyncExitStack() as stack:
        crowd = await crowd_of(server, stack)
        given = await asyncio.gather(*(give_back(client, SECONDS) for client in crowd))
        causes = [[idle.cause for idle in client.heard if isinstance(idle, Idle)][-1] for client in crowd]
    # Each had at most all units once.
    assert max(given) <= SHARDS
    assert causes == STRANGERS * ["released"]


async def test_new_names_do_not_give_back_more_and_keep_nobody_from_work(server: Server) -> None:
    async with AsyncExitStack() as stack:
        # In their network, but with a result of its own.
        neighbour = await stack.enter_async_context(UnitClient(server.url, address="192.0.2.200"))
        await neighbour.ready()
        await train(neighbour, 1)
        assert await come_and_go(server, NAMES) <= NAMES / 2
        async with UnitClient(server.url, address="192.0.2.201") as newcomer:
            await newcomer.ready()
            assert (await newcomer.next(Idle)).cause == "released"
            await newcomer.say(Leave())
        assert await train(neighbour, 2 * SHARDS - 1) == [1] * (SHARDS - 1) + [2] * SHARDS


async def test_results_that_are_wrong_end_no_epoch_either(server: Server) -> None:
    async with AsyncExitStack() as stack:
        for client in await crowd_of(server, stack):
            await client.ready(SHARDS)
            for _ in range(SHARDS):
                unit = await client.next(Unit, Idle)
                if not isinstance(unit, Unit):
                    break
                await client.deliver(unit, np.full(SIZE, np.nan, np.float32), steps=STEPS)
                assert (await client.next(Rejected)).code == "not-finite"
            # Units that it might still get it would hold until their leases end.
            await client.say(Leave())
        task = await asyncio.to_thread(server.get, "/api/tasks/tiny")
        assert (task["round"], task["phase"]) == (1, "waiting")
        honest = await stack.enter_async_context(UnitClient(server.url, address="198.51.100.7"))
        await honest.ready()
        assert await train(honest, 2 * SHARDS) == [1] * SHARDS + [2] * SHARDS
