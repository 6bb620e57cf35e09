"""What a task file says of work units, kept by a real server: warm start, bound, and when a task ends."""

from __future__ import annotations

import asyncio
from pathlib import Path

import numpy as np
import pytest

from backend.wire.unit_messages import Board, Counted, Drop, Idle, Unit, Want
from tests.integration.server.conftest import Serve
from tests.integration.server.units.test_target import DIGITS, idle_on
from tests.integration.server.units.test_work_units import ALONE, done, fetched
from tests.support.tasks.tiny_task import SHARDS, SIZE, write_units
from tests.support.timeouts import LONG
from tests.support.web.server_process import Server, running
from tests.support.web.unit_client import UnitClient

BEGAN = np.arange(SIZE, dtype=np.float32)
BOUND = 2


def reasons(server: Server, task: str) -> list[str]:
    """Why epochs ended, where they were cut short."""
    return [row["reason"] for row in server.table(f"/api/tasks/{task}/figures/rounds.csv")]


async def until_finished(client: UnitClient) -> None:
    """Listens until the task is over."""
    while (await client.next(Board)).phase != "finished":
        pass


async def test_while_the_model_warms_up_results_come_one_by_one_and_are_taken_as_they_are(
    units: Serve,
) -> None:
    warm = {"name": "vc-asgd", "alpha": 0.5, "warm_start": 2}
    server = units(epochs=1, trust=ALONE, assimilation=warm)
    async with UnitClient(server.url) as ann, UnitClient(server.url) as bob:
        await ann.ready(SHARDS)
        first = await ann.next(Unit)
        await bob.ready(SHARDS)
        assert (await bob.next(Idle)).cause == "nothing"
        await ann.say(Want(0))
        assert isinstance(await done(ann, first), Counted)
        second = await bob.next(Unit)
        assert await bob.weights(second) == pytest.approx(BEGAN + 1)
        assert isinstance(await done(bob, second), Counted)
        # It is warm: the others are handed out at once, and the model keeps half of itself.
        rest = await bob.units(SHARDS - 2)
        assert {unit.base for unit in rest} == {2}
        assert await bob.weights(rest[0]) == pytest.approx(BEGAN + 2)
        for unit in rest:
            await bob.deliver(unit, np.ones(SIZE, np.float32), steps=2)
        await until_finished(bob)
        assert sum(isinstance(one, Unit) for one in ann.heard) == 1
    made = await asyncio.to_thread(fetched, server, server.get("/api/tasks/tiny")["weights"])
    # What is left of the way from 2 to 3 is halved by each.
    assert np.frombuffer(made or b"", "<f4") == pytest.approx(BEGAN + 3 - 0.5 ** (SHARDS - 2))


async def test_a_fast_client_waits_where_it_is_too_far_ahead_of_a_slow_one(units: Serve) -> None:
    server = units(trust=ALONE, bound=BOUND)
    async with UnitClient(server.url) as slow, UnitClient(server.url) as fast:
        await slow.ready()
        assert isinstance(await done(slow, await slow.next(Unit)), Counted)
        held = await slow.next(Unit)
        await fast.ready()
        for _ in range(1 + BOUND):
            await done(fast, await fast.next(Unit))
        waiting: Unit | Idle = await fast.next(Unit, Idle)
        assert isinstance(waiting, Idle)
        assert waiting.cause == "bound"
        assert isinstance(await done(slow, held), Counted)
        assert isinstance(await fast.next(Unit), Unit)


async def test_a_task_ends_when_its_seconds_are_over_and_goes_on_with_more_of_them(tmp_path: Path) -> None:
    write_units(tmp_path / "tasks" / "tiny", trust=ALONE)
    limit = "tiny.coordination.stop.seconds"
    with running(tmp_path / "tasks", tmp_path / "data", "--set", f"{limit}=2") as server:
        async with UnitClient(server.url) as client:
            await client.ready()
            held = await client.next(Unit)
            assert (await client.next(Drop)).lease == held.lease
            await until_finished(client)
        summary = server.get("/api/tasks/tiny")
        assert (summary["phase"], summary["round"]) == ("finished", 1)
        assert reasons(server, "tiny") == ["The epochs lasted 2 seconds, their limit."]
    with running(tmp_path / "tasks", tmp_path / "data", "--set", f"{limit}=2") as server:
        async with UnitClient(server.url) as client:
            await until_finished(client)
    with running(tmp_path / "tasks", tmp_path / "data", "--set", f"{limit}=86400") as server:
        async with UnitClient(server.url) as client:
            await client.ready()
            unit = await client.next(Unit)
            assert unit.epoch == 2
            assert isinstance(await done(client, unit), Counted)


async def test_a_task_ends_where_epochs_make_no_progress(tmp_path: Path) -> None:
    folder = tmp_path / "tasks" / "digits"
    folder.mkdir(parents=True)
    (folder / "built").symlink_to((DIGITS / "built").resolve())
    text = (DIGITS / "task.toml").read_text("utf-8").replace("shards_per_client = 4\n", "")
    head, _, rest = text.partition("[coordination]")
    coordination = """[coordination]
scheme = "volunteer"
[coordination.units]
epochs = 1000
evaluate_every = 15
[coordination.units.trust]
replicas = 1
spot_checks = 0.0
[coordination.stop]
patience = 2
"""
    (folder / "task.toml").write_text(head + coordination + rest[rest.index("[security]") :], "utf-8")
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        async with asyncio.timeout(LONG), UnitClient(server.url, "digits") as client:
            await idle_on(client)
        summary = server.get("/api/tasks/digits")
        assert 3 <= summary["version"] < 1000
        assert reasons(server, "digits")[-1].startswith("No progress of loss in ")
