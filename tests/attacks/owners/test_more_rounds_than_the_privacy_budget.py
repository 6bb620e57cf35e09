"""An owner extends a private task, so that its clients give away more than they were promised."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from backend.server.privacy.epsilon import gaussian_epsilon
from backend.wire.messages import Accepted
from tests.support.tasks.tiny_task import STATE, TRAINABLE, write_task
from tests.support.timeouts import PATIENCE
from tests.support.web.rounds_client import Client
from tests.support.web.server_process import Server, running
from tests.support.web.visitors import Visitor, operator

# Two rounds of one client keep epsilon 4, three do not.
NOISE, BUDGET, DELTA = 1.6, 4.0, 1e-5
SILENT: dict[str, Any] = {"loss": 0.0, "sums": []}
TOKENS = ("ann-" * 6, "bob-" * 6)


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    folder = write_task(tmp_path / "tasks" / "tiny", more=-STATE, rounds=1)
    with (folder / "task.toml").open("a") as file:
        table = f'mechanism = "central"\nclip = 1.0\nnoise_multiplier = {NOISE}\nepsilon = {BUDGET}'
        file.write(f"\n[privacy]\n{table}\n")
    return folder.parent


async def train_until_finished(server: Server) -> None:
    """The same two clients train until the task is finished."""
    async with Client(server.url, token=TOKENS[0]) as ann, Client(server.url, token=TOKENS[1]) as bob:
        for client in (ann, bob):
            await client.ready()

        async def train(client: Client) -> None:
            while True:
                answer = await client.deliver(await client.selected(), np.ones(TRAINABLE), **SILENT)
                assert isinstance(answer, Accepted)

        training = [asyncio.create_task(train(client)) for client in (ann, bob)]
        async with asyncio.timeout(PATIENCE):
            while (await asyncio.to_thread(server.get, "/api/tasks/tiny"))["phase"] != "finished":  # noqa: ASYNC110 - another process.
                await asyncio.sleep(0.05)
        for task in training:
            task.cancel()


async def extend(who: Visitor, status: int | None = None, **asked: Any) -> Any:
    return await asyncio.to_thread(who.ask, "POST", "/api/tasks/tiny/extend", asked, status)


async def test_rounds_beyond_the_budget_are_not_trained_and_a_spent_budget_refuses_more(
    tmp_path: Path, tasks: Path
) -> None:
    with running(tasks, tmp_path / "data") as server:
        owner = operator(server)
        await train_until_finished(server)
        told = await extend(owner, rounds=50)
        epsilon = pytest.approx(gaussian_epsilon(NOISE / 2**0.5, DELTA))
        assert told["privacy"] == {"most": 2, "epsilon": epsilon}
        await train_until_finished(server)
        summary = server.get("/api/tasks/tiny")
        assert (summary["version"], summary["privacy"]["taken"]) == (2, 2)
        assert summary["privacy"]["epsilon"] == epsilon
        refused = await extend(owner, 409, rounds=50, stop={})
        assert refused["error"]["message"].startswith("The privacy budget is spent: in another round epsilon")
        assert server.get("/api/tasks/tiny")["phase"] == "finished"


async def test_starting_over_from_version_0_does_not_give_the_budget_back(
    tmp_path: Path, tasks: Path
) -> None:
    with running(tasks, tmp_path / "data") as server:
        owner = operator(server)
        await train_until_finished(server)
        await extend(owner, rounds=50, version=0)
        await train_until_finished(server)
        summary = server.get("/api/tasks/tiny")
        # Version 2 is version 0 again; only version 3 took another round of the clients.
        assert (summary["version"], summary["privacy"]["taken"]) == (3, 2)
        await extend(owner, 409, rounds=50, version=0)


async def test_a_fork_says_what_its_first_task_cost_already(tmp_path: Path, tasks: Path) -> None:
    with running(tasks, tmp_path / "data") as server:
        owner = operator(server)
        await train_until_finished(server)
        draft = owner.ask("POST", "/api/tasks/tiny/clone", {"name": "tiny-b", "version": 1})
        spent = gaussian_epsilon(NOISE, DELTA)
        assert (
            f"gave away something there (up to epsilon {spent:.3g}), to which this task adds"
            in draft["readme"]
        )


async def test_the_promise_itself_is_no_part_of_an_extension(tmp_path: Path, tasks: Path) -> None:
    with running(tasks, tmp_path / "data") as server:
        owner = operator(server)
        for asked in ({"privacy": {"epsilon": 40.0}}, {"epsilon": 40.0}, {"noise_multiplier": 0.1}):
            await extend(owner, 400, rounds=9, **asked)
        assert server.get("/api/tasks/tiny")["privacy"]["budget"] == BUDGET
