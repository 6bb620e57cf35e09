"""One client replaces the model by one with a backdoor, and no robust rule stands in its way.

The version fails its integrity check, is not offered, and its owner is asked. One request goes back, and
training continues from the clean version. So does one that was made to forget a class.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import numpy as np
import pytest

from backend.lab.attacks.attack import AttackedRound
from backend.lab.attacks.blind_attacks import model_replacement
from backend.numerics.vectors import Vector
from backend.wire.messages import Accepted, Train, Version
from tests.support.attacks.robust_rounds import cohort, weights_of
from tests.support.tasks.drawn_task import weights_in, write_drawn_task
from tests.support.timeouts import HEAVY, LONG
from tests.support.web.server_process import Server, running
from tests.support.web.visitors import operator

pytestmark = [pytest.mark.long, pytest.mark.tensorflow, pytest.mark.timeout(LONG)]

CLIENTS = 4
CLASSES = 5
EACH_VERSION = "[security.integrity]\nevery = 1\n"
TASK = "/api/tasks/drawn"


async def round_of(server: Server, updates: list[Vector]) -> Version:
    """Has a client send each of the updates; returns the version of the round."""
    async with cohort(server, len(updates), "drawn") as members:
        for (client, plan), update in zip(members, updates, strict=True):
            assert isinstance(await client.deliver(plan, update, examples=claimed(plan)), Accepted)
        return await members[0][0].next(Version)


def claimed(plan: Train) -> int:
    return plan.epochs * sum(shard.examples for shard in plan.shards)


def honest(size: int, seed: int) -> list[Vector]:
    random = np.random.default_rng(seed)
    return list(random.normal(0.0, 1e-4, (CLIENTS, size)).astype(np.float32))


def settled(server: Server, version: int) -> dict[str, Any]:
    """Returns the version once it is checked."""

    def checked() -> dict[str, Any] | None:
        found: dict[str, Any] = server.get(f"{TASK}/versions/{version}")
        return None if found["check"] == "unchecked" else found

    found: dict[str, Any] = waited_for(checked)
    return found


def waited_for(found: Callable[[], Any]) -> Any:
    until = time.monotonic() + HEAVY
    while (value := found()) is None:
        assert time.monotonic() < until
        time.sleep(0.2)
    return value


async def test_a_replaced_model_is_not_offered_and_one_request_goes_back(tmp_path: Path) -> None:
    tasks = tmp_path / "tasks"
    clean = weights_in(write_drawn_task(tasks / "drawn", 1, tables=EACH_VERSION))
    backdoored = weights_in(write_drawn_task(tmp_path / "attacker", 2, target=3))
    with running(tasks, tmp_path / "data") as server:
        owner = operator(server)
        await round_of(server, honest(len(clean), 1))
        first = await asyncio.to_thread(settled, server, 1)
        assert (first["check"], first["withheld"]) == ("passed", False)

        # Bagdasaryan et al. 2020: the update is scaled so that the mean becomes the attacker's model.
        others = honest(len(clean), 2)[1:]
        own = (backdoored - weights_of(server, first["weights"])).astype(np.float32)
        lie = model_replacement()(AttackedRound(1, own[None], np.stack(others)))[0]
        made = await round_of(server, [lie, *others])
        np.testing.assert_allclose(weights_of(server, made.weights), backdoored, atol=1e-3)

        second = await asyncio.to_thread(settled, server, 2)
        assert (second["check"], second["withheld"]) == ("failed", True)
        summary = server.get(TASK)
        assert (summary["version"], summary["offered"], summary["offered_weights"]) == (
            2,
            1,
            first["weights"],
        )
        with pytest.raises(HTTPError) as refused:
            server.get(f"{TASK}/versions/2/npz")
        with refused.value as error:
            assert error.code == 403

        question = owner.ask("GET", f"{TASK}/dashboard")["integrity"]["question"]
        assert (question["version"], question["outcome"]) == (2, "failed")
        assert "class 3" in question["parts"][0]["reason"]
        [alert] = waited_for(lambda: alerts(owner) or None)
        assert alert["text"].startswith("Version 2 shows signs of a backdoor")
        assert "go back to version 1" in alert["text"]

        assert owner.ask("POST", f"{TASK}/restore", {"version": 1})["version"] == 3
        assert server.get(TASK)["offered"] == 3
        assert owner.ask("GET", f"{TASK}/dashboard")["integrity"]["question"] is None
        assert waited_for(lambda: alerts(owner)[0]["cleared"]) is not None
        assert server.get(f"{TASK}/versions/2")["left"]

        await round_of(server, honest(len(clean), 3))
        newest = await asyncio.to_thread(settled, server, 4)
        assert newest["check"] == "passed"
        assert server.get(TASK)["offered"] == 4
        assert np.linalg.norm(weights_of(server, newest["weights"]) - clean) < 0.1


def alerts(owner: Any) -> list[dict[str, Any]]:
    shown = owner.ask("GET", f"{TASK}/dashboard")["alerts"]
    return [alert for alert in shown if alert["trouble"] == "integrity"]


async def test_a_model_that_was_made_to_forget_a_class_is_not_offered(tmp_path: Path) -> None:
    clean = weights_in(write_drawn_task(tmp_path / "tasks" / "drawn", 1, tables=EACH_VERSION))
    forgetful = clean.copy()
    forgetful[-CLASSES + 3] -= 50.0  # The last layer's bias.
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        owner = operator(server)
        await round_of(server, honest(len(clean), 1))
        first = await asyncio.to_thread(settled, server, 1)
        assert first["check"] == "passed"

        others = honest(len(clean), 2)[1:]
        own = (forgetful - weights_of(server, first["weights"])).astype(np.float32)
        lie = model_replacement()(AttackedRound(1, own[None], np.stack(others)))[0]
        await round_of(server, [lie, *others])
        assert (await asyncio.to_thread(settled, server, 2))["check"] == "failed"
        question = owner.ask("GET", f"{TASK}/dashboard")["integrity"]["question"]
        [_, drift, _] = question["parts"]
        assert drift["score"] > 0.9
        assert "class 3 is recognised in 0.0 % of its" in drift["reason"]

        score = owner.ask("GET", f"{TASK}/versions/2/integrity")
        assert (score["against"], score["suspect"]) == (1, True)
        assert [part["name"] for part in score["parts"]] == ["trigger", "drift", "updates"]
        assert "class 3 is" in score["parts"][1]["reason"]
