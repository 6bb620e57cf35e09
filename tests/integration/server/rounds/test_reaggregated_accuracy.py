"""A client reverses its updates under the mean, and its owner sees what another rule would have reached.

Versions of the other rule are measured on the task's held-out examples, by TensorFlow.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from backend.numerics.vectors import Vector
from backend.wire.messages import Accepted, Train, Version
from tests.support.attacks.kept_rounds import tried
from tests.support.attacks.robust_rounds import cohort, weights_of
from tests.support.tasks.drawn_task import weights_in, write_drawn_task
from tests.support.tasks.tiny_task import write_task
from tests.support.timeouts import LONG, eventually
from tests.support.web.server_process import Server, running
from tests.support.web.visitors import Visitor, operator, owner

pytestmark = [pytest.mark.long, pytest.mark.tensorflow, pytest.mark.timeout(LONG)]

CLIENTS, ATTACKED = 5, 3
TASK = "/api/tasks/drawn"
PATH = f"{TASK}/reaggregation"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A task that keeps the updates of the attacked rounds; its version 0 is the goal of the training."""
    folder = write_drawn_task(
        tmp_path / "data" / "tasks" / "drawn", 1, tables=f"[security.kept_updates]\nrounds = {ATTACKED}\n"
    )
    file = folder / "task.toml"
    text = file.read_text("utf-8").replace("min_available_clients = 4", f"min_available_clients = {CLIENTS}")
    file.write_text(text.replace("quorum = 4", f"quorum = {CLIENTS}"), "utf-8")
    return folder


@pytest.fixture
def server(folder: Path, tmp_path: Path) -> Iterator[Server]:
    del folder
    write_task(tmp_path / "operators" / "tiny")
    with running(tmp_path / "operators", tmp_path / "data") as server:
        yield server


async def play_round(server: Server, updates: list[NDArray[np.float32]]) -> Version:
    async with cohort(server, CLIENTS, "drawn") as members:
        for (client, plan), update in zip(members, updates, strict=True):
            assert isinstance(await client.deliver(plan, update, examples=claimed(plan)), Accepted)
        return await members[0][0].next(Version)


def claimed(plan: Train) -> int:
    return plan.epochs * sum(shard.examples for shard in plan.shards)


async def attacked(server: Server, goal: Vector) -> None:
    """Trains from a bad model towards the goal, while one client reverses and enlarges its updates."""
    random = np.random.default_rng(7)
    spoiled = -0.8 * goal + random.normal(0.0, 0.3, len(goal)).astype(np.float32)
    newest = await play_round(server, [spoiled] * CLIENTS)
    for _ in range(ATTACKED):
        missing = (goal - weights_of(server, newest.weights)).astype(np.float32)
        noise = random.normal(0.0, 0.01, (CLIENTS, len(goal))).astype(np.float32)
        honest = [missing / ATTACKED + one for one in noise]
        newest = await play_round(server, [-4 * honest[0], *honest[1:]])


def accuracies(rows: list[dict[str, Any]], side: str) -> list[float]:
    return [row[side]["evaluation"]["metrics"]["accuracy"] for row in rows]


async def test_multi_krum_would_have_reached_what_the_mean_did_not(server: Server, folder: Path) -> None:
    ann = operator(server)
    await attacked(server, weights_in(folder))
    await asyncio.to_thread(eventually, lambda: kept(ann) == [2, 3, 4], "the rounds are not kept")
    report = await tried(ann, "drawn", {"rule": "multi-krum", "attackers": 1})
    assert (report["state"], report["measured"]) == ("done", True)
    await asyncio.to_thread(server.measured_versions, "drawn")
    rows = ann.ask("GET", PATH)["rounds"]
    real, other = accuracies(rows, "real"), accuracies(rows, "tried")
    assert [row["made"] for row in rows] == [2, 3, 4]
    assert real[-1] < 0.5
    assert other[-1] > 0.9
    assert rows[-1]["tried"]["evaluation"]["loss"] < rows[-1]["real"]["evaluation"]["loss"]
    assert all(len(row["tried"]["left_out"]) == 1 for row in rows)
    # The mean again reaches what the mean reached.
    mean = (await tried(ann, "drawn", {"rule": "mean"}))["rounds"]
    assert accuracies(mean, "tried") == pytest.approx(real, abs=0.01)


async def test_one_try_runs_at_a_time_and_ends_with_its_task(
    server: Server, folder: Path, tmp_path: Path
) -> None:
    ann = operator(server)
    bob = owner(ann, "bob")
    ann.ask("PUT", f"{TASK}/members", {"account": "bob", "role": "owner"})
    await attacked(server, weights_in(folder))
    await asyncio.to_thread(eventually, lambda: kept(ann) == [2, 3, 4], "the rounds are not kept")
    bob.ask("POST", PATH, {"rule": "median"}, 202)
    answer = bob.ask("POST", PATH, {"rule": "krum"}, 409)
    assert "Another rule is being tried" in answer["error"]["message"]
    bob.ask("DELETE", PATH, None, 204)
    await asyncio.to_thread(eventually, lambda: state(bob) == "cancelled", "it was not cancelled")
    bob.ask("POST", PATH, {"rule": "median"}, 202)
    bob.ask("DELETE", TASK, None, 204)
    assert not (tmp_path / "data" / "kept_updates" / "drawn").exists()
    assert not list((tmp_path / "data" / "scratch").glob("reaggregation-*"))
    ann.ask("GET", PATH, None, 404)


def kept(visitor: Visitor) -> list[int]:
    """Returns the versions that kept rounds made."""
    return [one["made"] for one in visitor.ask("GET", PATH)["kept"]["rounds"]]


def state(visitor: Visitor) -> str:
    report: dict[str, Any] = visitor.ask("GET", PATH)
    return str(report["state"])
