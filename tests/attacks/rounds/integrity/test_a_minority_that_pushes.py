"""Some clients train on poisoned examples round after round: their updates point in a direction of their own.

The server checks a version at once, long before its turn, and says so to the owner; new names do not help.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from backend.numerics.vectors import Vector
from backend.wire.messages import Accepted, Version
from tests.support.attacks.robust_rounds import cohort
from tests.support.tasks.checked_task import write_checked
from tests.support.tasks.tiny_task import SIZE
from tests.support.timeouts import HEAVY, eventually
from tests.support.web.server_process import Server, running
from tests.support.web.visitors import operator

pytestmark = [pytest.mark.tensorflow, pytest.mark.timeout(HEAVY)]

HONEST, ATTACKERS, ROUNDS = 5, 2, 4
SELDOM = "every = 1000"


def updates(seed: int, attackers: int) -> list[Vector]:
    """Honest updates that differ from round to round, and those of attackers, who always push one value."""
    random = np.random.default_rng(seed)
    way = random.normal(size=SIZE)
    way[7] = 0.0
    rows = [way + 0.4 * random.normal(size=SIZE) for _ in range(HONEST + ATTACKERS)]
    for row in rows[:attackers]:
        row[:] = 0.05 * random.normal(size=SIZE)
        row[7] = 3.0
    return [(0.01 * row).astype(np.float32) for row in rows]


async def train(server: Server, attackers: int) -> None:
    """Trains ROUNDS rounds, each with clients under new names."""
    for number in range(ROUNDS):
        sent = updates(number, attackers)
        async with cohort(server, len(sent)) as members:
            for (client, plan), update in zip(members, sent, strict=True):
                assert isinstance(await client.deliver(plan, update), Accepted)
            await members[0][0].next(Version)


def write(tmp_path: Path) -> Path:
    clients = HONEST + ATTACKERS
    return write_checked(
        tmp_path / "tasks" / "tiny", SELDOM, min_available_clients=clients, quorum=clients
    ).parent


async def test_it_brings_the_check_forward_and_the_owner_sees_it(tmp_path: Path) -> None:
    with running(write(tmp_path), tmp_path / "data") as server:
        owner = operator(server)
        await train(server, ATTACKERS)

        def checks() -> list[dict[str, Any]]:
            found: list[dict[str, Any]] = owner.ask("GET", "/api/tasks/tiny/dashboard")["integrity"]["checks"]
            return found

        await asyncio.to_thread(eventually, lambda: bool(checks()), "the version is checked")
        [check] = await asyncio.to_thread(checks)
        assert check["cause"] == "updates"
        assert check["version"] <= ROUNDS
        # The model of this task cannot be measured: what the updates do neither fails nor clears a version.
        assert check["outcome"] == "unmeasured"


async def test_honest_updates_bring_no_check_forward(tmp_path: Path) -> None:
    with running(write(tmp_path), tmp_path / "data") as server:
        owner = operator(server)
        await train(server, 0)
        report = owner.ask("GET", "/api/tasks/tiny/dashboard")["integrity"]
        assert (report["waiting"], report["checks"]) == ([], [])
