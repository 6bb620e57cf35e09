"""Owners lead tasks of work units: pause, resume, finish and stop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from backend.wire.units import Board, Counted, Drop, Idle, Unit
from tests.tiny import SHARDS
from tests.web.conftest import Serve
from tests.web.owners import operator
from tests.web.test_units import ALONE, ONES, done
from tests.web.unit_client import UnitClient


async def finished(client: UnitClient) -> Board:
    """The board once the task is over."""
    while (board := await client.next(Board)).phase != "finished":
        pass
    return board


async def test_in_a_pause_what_is_at_work_counts_and_nothing_more_is_dealt_out(units: Serve) -> None:
    server = units(trust=ALONE)
    ann = operator(server)
    async with UnitClient(server.url) as client:
        await client.ready()
        unit = await client.next(Unit)
        ann.ask("POST", "/api/tasks/tiny/orders", {"order": "pause"})
        while (await client.next(Board)).phase != "paused":
            pass
        assert isinstance(await done(client, unit), Counted)
        assert (await client.next(Idle)).cause == "paused"
        ann.ask("POST", "/api/tasks/tiny/orders", {"order": "resume"})
        assert (await client.next(Unit)).base == 1


@pytest.mark.parametrize("order", ["pause", "stop"])
async def test_a_cut_drops_what_is_at_work_and_a_stop_makes_a_version_of_what_there_is(
    units: Serve, order: str
) -> None:
    server = units(trust=ALONE, assimilation={"name": "downpour"})
    ann = operator(server)
    async with UnitClient(server.url) as client:
        await client.ready()
        await done(client, await client.next(Unit))
        unit = await client.next(Unit)
        body: dict[str, Any] = {"order": order} | ({"cut": True} if order == "pause" else {})
        ann.ask("POST", "/api/tasks/tiny/orders", body)
        assert (await client.next(Drop)).lease == unit.lease
        if order == "pause":
            ann.ask("POST", "/api/tasks/tiny/orders", {"order": "resume"})
            assert (await client.next(Unit)).base == 1
            return
        await finished(client)
    versions = server.get("/api/tasks/tiny/versions")["versions"]
    assert [one["accepted"] for one in versions] == [0, 1]


async def test_to_finish_ends_the_epoch_first_where_somebody_is_at_work(units: Serve) -> None:
    server = units(epochs=100, trust=ALONE)
    ann = operator(server)
    async with UnitClient(server.url) as client:
        await client.ready()
        unit = await client.next(Unit)
        ann.ask("POST", "/api/tasks/tiny/orders", {"order": "finish"})
        for number in range(SHARDS):
            assert isinstance(await done(client, unit, np.float32(number + 1) * ONES), Counted)
            if number + 1 < SHARDS:
                unit = await client.next(Unit)
        assert (await finished(client)).epoch == 1
    summary = server.get("/api/tasks/tiny")
    assert (summary["version"], summary["phase"], summary["state"]) == (1, "finished", "finished")
