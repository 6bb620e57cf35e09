"""Owners lead tasks of work units: pause, resume, finish and stop."""

from __future__ import annotations

import asyncio
import signal
import time
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest

from backend.wire.unit_messages import Board, Counted, Drop, Idle, Unit
from tests.integration.server.conftest import Serve
from tests.integration.server.units.test_work_units import ALONE, ONES, done
from tests.support.tasks.tiny_task import SHARDS
from tests.support.timeouts import PATIENCE
from tests.support.web.server_process import Server
from tests.support.web.unit_client import UnitClient
from tests.support.web.visitors import Visitor, operator


async def finished(client: UnitClient, phase: str = "finished") -> Board:
    """The board once the task is over."""
    while (board := await client.next(Board)).phase != phase:
        pass
    return board


def has_version(server: Server) -> None:
    """Waits until the first epoch is recorded."""
    deadline = time.monotonic() + PATIENCE
    while server.get("/api/tasks/tiny")["version"] == 0:
        assert time.monotonic() < deadline, "the epoch makes no version"
        time.sleep(0.05)


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
        dropped = await client.next(Drop)
        assert dropped.lease == unit.lease
        assert dropped.reason.startswith("The owner paused" if order == "pause" else "The training ended")
        if order == "pause":
            ann.ask("POST", "/api/tasks/tiny/orders", {"order": "resume"})
            assert (await client.next(Unit)).base == 1
            return
        # The owner may resume it, so that clients wait instead of leaving.
        await finished(client, "paused")
        versions = server.get("/api/tasks/tiny/versions")["versions"]
        assert [one["accepted"] for one in versions] == [0, 1]
        assert server.get("/api/tasks/tiny")["state"] == "stopped"
        ann.ask("POST", "/api/tasks/tiny/orders", {"order": "resume"})
        assert (await client.next(Unit)).base == 1


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


async def test_after_a_restart_an_owner_is_told_how_many_epochs_there_are(units: Serve) -> None:
    server = units(epochs=2, trust=ALONE)
    ann = operator(server)
    async with UnitClient(server.url) as client:
        await client.ready()
        for _ in range(SHARDS):
            await done(client, await client.next(Unit))
        await asyncio.to_thread(has_version, server)
    await asyncio.to_thread(server.stop, signal.SIGKILL)
    await asyncio.to_thread(server.start)
    ann.host = urlsplit(server.url).netloc
    (alert,) = ann.ask("GET", "/api/tasks/tiny/dashboard")["alerts"]
    assert alert["text"] == (
        "The server restarted. Nothing that was recorded is lost: 1 epoch and version 1. "
        "Work units whose results were not recorded are done again."
    )


def test_the_model_page_says_what_a_unit_moves(units: Serve) -> None:
    page = Visitor(units().url).ask("GET", "/tasks/tiny/model")
    assert [word for word in ("unit", "round") if f"Each {word}, down" in page] == ["unit"]
    assert "Examples of a shard" in page


async def test_the_board_says_when_there_is_a_newer_answer(units: Serve) -> None:
    server = units(trust=ALONE)
    ann = operator(server)
    async with UnitClient(server.url) as client:
        told = ann.ask("GET", "/api/tasks/tiny/units")
        assert told["tally"]["leased"] == 0
        await client.ready()
        await client.next(Unit)
        await asyncio.sleep(told["newer_in"])
        assert ann.ask("GET", "/api/tasks/tiny/units")["tally"]["leased"] == 1


async def test_an_epoch_that_was_ended_without_a_result_does_not_count(units: Serve) -> None:
    server = units(epochs=1, trust=ALONE)
    ann = operator(server)
    async with UnitClient(server.url) as client:
        await client.ready()
        await client.next(Unit)
        ann.ask("POST", "/api/tasks/tiny/orders", {"order": "stop"})
        await finished(client, "paused")
        assert server.get("/api/tasks/tiny")["version"] == 0
        ann.ask("POST", "/api/tasks/tiny/orders", {"order": "resume"})
        for _ in range(SHARDS):
            unit = await client.next(Unit)
            assert unit.epoch == 2
            assert isinstance(await done(client, unit), Counted)
        await finished(client)
    await asyncio.to_thread(has_version, server)
    assert server.get("/api/tasks/tiny")["version"] == 1
