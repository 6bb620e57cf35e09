"""A server of work units that is killed goes on: no unit is lost, and none is counted twice."""

from __future__ import annotations

import asyncio
import json
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pytest

from backend.wire.unit_messages import Board, Counted, Drop, Unit
from tests.integration.server.units.test_work_units import ALONE, ONES, done, fetched
from tests.support.tasks.tiny_task import SHARDS, SIZE, write_units
from tests.support.timeouts import PATIENCE
from tests.support.web.server_process import Server, running
from tests.support.web.unit_client import UnitClient

EPOCHS = 2


@contextmanager
def served(folder: Path, *flags: str) -> Iterator[Server]:
    """The server on this folder; it may have been killed when this ends."""
    server = Server(folder / "tasks", folder / "data", *flags)
    server.start()
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.stop(signal.SIGKILL)


def kept(folder: Path) -> int:
    """Assimilations on record."""
    with closing(sqlite3.connect(folder / "data" / "records.sqlite")) as records:
        found: int = records.execute("SELECT count(*) FROM assimilations").fetchone()[0]
        return found


async def until_kept(folder: Path, count: int) -> None:
    """Waits for so many to be on record."""
    async with asyncio.timeout(PATIENCE):
        while await asyncio.to_thread(kept, folder) < count:  # noqa: ASYNC110 - another process writes them.
            await asyncio.sleep(0.05)


async def test_after_a_kill_the_run_goes_on_from_the_checkpoint(tmp_path: Path) -> None:
    half = {"name": "vc-asgd", "alpha": 0.5}
    write_units(tmp_path / "tasks" / "tiny", epochs=EPOCHS, trust=ALONE, assimilation=half)
    with served(tmp_path) as server:
        async with UnitClient(server.url) as client:
            await client.ready()
            for _ in range(2):
                await done(client, await client.next(Unit))
            await until_kept(tmp_path, 2)
            server.stop(signal.SIGKILL)
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        assert server.get("/api/tasks/tiny")["round"] == 1
        async with UnitClient(server.url, token=client.token) as again:
            await again.ready()
            first = await again.next(Unit)
            assert (first.epoch, first.base) == (1, 2)
            assert await again.weights(first) == pytest.approx(np.arange(SIZE) + 1.0)
            units = [first]
            await done(again, first)
            for _ in range(EPOCHS * SHARDS - 3):
                units.append(await again.next(Unit))
                assert isinstance(await done(again, units[-1]), Counted)
            board = await again.next(Board)
            while board.phase != "finished":
                board = await again.next(Board)
        assert board.base == EPOCHS * SHARDS
        # A lease of before is nobody's now.
        assert len({one.lease for one in units}) == len(units)
        made = await asyncio.to_thread(fetched, server, server.get("/api/tasks/tiny")["weights"])
        assert np.frombuffer(made or b"", "<f4") == pytest.approx(np.arange(SIZE) + 0.5 * board.base)
        (given,) = server.get("/api/tasks/tiny/contributions")["contributions"]
        assert given["accepted"] == EPOCHS * SHARDS
    with closing(sqlite3.connect(tmp_path / "data" / "records.sqlite")) as records:
        rows = records.execute("SELECT number, epoch, shard FROM assimilations ORDER BY number").fetchall()
    assert [row[0] for row in rows] == list(range(1, EPOCHS * SHARDS + 1))
    assert len({row[1:] for row in rows}) == EPOCHS * SHARDS


async def test_what_a_client_holds_over_a_kill_is_dropped_when_it_says_so(tmp_path: Path) -> None:
    write_units(tmp_path / "tasks" / "tiny", trust=ALONE)
    with served(tmp_path) as server:
        async with UnitClient(server.url) as client:
            await client.ready()
            unit = await client.next(Unit)
            server.stop(signal.SIGKILL)
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        async with UnitClient(server.url, token=client.token) as again:
            await again.ready()
            other = await again.next(Unit)
            assert other.lease != unit.lease
            refused = await again.deliver(unit, ONES)
            assert refused.lease == unit.lease
            assert not isinstance(refused, Drop)
            assert isinstance(await done(again, other), Counted)


@pytest.mark.parametrize("after", [0.02, 0.3])
async def test_nothing_is_lost_or_counted_twice_whenever_it_is_killed(tmp_path: Path, after: float) -> None:
    """Kills a server again and again in the midst of its work; every result tells of which unit it is."""
    folder = write_units(
        tmp_path / "tasks" / "tiny", epochs=EPOCHS, trust=ALONE, assimilation={"name": "downpour"}
    )
    index = json.loads((folder / "shards" / "shards.json").read_text("utf-8"))
    order, token = [one["sha256"] for one in index["train"]], ""
    for _ in range(3):
        with served(tmp_path) as server:
            async with UnitClient(server.url, token=token or None) as client:
                token = client.token
                work = asyncio.create_task(train(client, order))
                await asyncio.sleep(after)
                server.stop(signal.SIGKILL)
                await asyncio.gather(work, return_exceptions=True)
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        async with UnitClient(server.url, token=token) as client:
            await train(client, order)
        summary = server.get("/api/tasks/tiny")
        made = await asyncio.to_thread(fetched, server, summary["weights"])
    assert summary["version"] == EPOCHS
    # Each unit of an epoch moved its own value by one.
    change = np.frombuffer(made or b"", "<f4") - np.arange(SIZE)
    assert change.tolist() == [EPOCHS] * SHARDS + [0] * (SIZE - SHARDS)


async def train(client: UnitClient, order: list[str]) -> None:
    """Does units until the task is finished: the n-th shard moves the n-th value by 1."""
    await client.ready()
    while True:
        message: Unit | Board = await client.next(Unit, Board)
        if isinstance(message, Board):
            if message.phase == "finished":
                return
            continue
        update = np.zeros(SIZE, np.float32)
        update[order.index(message.shard.sha256)] = 1.0
        await done(client, message, update)


async def test_where_the_data_are_others_after_a_restart_the_epoch_ends_with_what_it_had(
    tmp_path: Path,
) -> None:
    folder = write_units(tmp_path / "tasks" / "tiny", epochs=EPOCHS, trust=ALONE)
    with served(tmp_path) as server:
        async with UnitClient(server.url) as client:
            await client.ready()
            await done(client, await client.next(Unit))
            await until_kept(tmp_path, 1)
            server.stop(signal.SIGKILL)
    index = json.loads((folder / "shards" / "shards.json").read_text("utf-8"))
    there = index["train"][: SHARDS // 2]
    (folder / "shards" / "shards.json").write_text(json.dumps(index | {"train": there}))
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        async with UnitClient(server.url, token=client.token) as again:
            await again.ready(SHARDS)
            units = await again.units(len(there))
            assert {unit.shard.sha256 for unit in units} == {one["sha256"] for one in there}
            assert {(unit.epoch, unit.base) for unit in units} == {(2, 1)}
            for unit in units:
                await again.deliver(unit, ONES, steps=2)
            while (await again.next(Board)).phase != "finished":
                pass
        versions = server.get("/api/tasks/tiny/versions")["versions"]
        assert [one["accepted"] for one in versions if one["version"]] == [1, len(there)]
        (given,) = server.get("/api/tasks/tiny/contributions")["contributions"]
        assert given["accepted"] == 1 + len(there)
        first, _ = server.table("/api/tasks/tiny/figures/rounds.csv")
        assert first["reason"].startswith("The data changed while the server was down")
