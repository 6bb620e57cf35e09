"""`kill -9` at any instant loses the open round at most."""

from __future__ import annotations

import asyncio
import random
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from tests.integration.crash.data_folder import sound
from tests.integration.crash.update_clients import Crowd
from tests.support.tasks.tiny_task import keep_versions, write_task
from tests.support.timeouts import PATIENCE
from tests.support.web.server_process import Server

LANES = 2
CLIENTS = 3
# Most deaths come while rounds follow each other, some in the first one, some while the server starts.
LONGEST_LIFE, STARTING, EARLY = 0.4, 0.1, 0.2


async def test_a_server_killed_at_any_instant_loses_the_open_round_at_most(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    kills = int(request.config.getoption("--kills"))
    await asyncio.gather(
        *(live_and_die(tmp_path / f"lane-{lane}", lane, kills // LANES) for lane in range(LANES))
    )


async def live_and_die(folder: Path, seed: int, kills: int) -> None:
    """Kills one server so many times."""
    write_task(folder / "tasks" / "tiny", min_available_clients=1, rounds=100_000, quorum=1)
    # Weights are let go soon, so that deaths come between marking and deleting too.
    keep_versions(folder / "tasks" / "tiny", 3)
    chance, crowd, bundle = random.Random(seed), Crowd(CLIENTS, f"lane-{seed}"), ""
    versions = busy = 0
    for _ in range(kills):
        server = Server(folder / "tasks", folder / "data", log=folder / "log")
        if bundle and chance.random() < STARTING:
            await asyncio.to_thread(kill_while_it_starts, server, chance.uniform(0.2, 1.0))
        else:
            await asyncio.to_thread(server.start)
            bundle = server.report["tasks"][0]["bundle"]
            crowd.news.clear()
            working = asyncio.create_task(crowd.work(server.url))
            if chance.random() >= EARLY:
                await asyncio.wait_for(crowd.news.wait(), PATIENCE)
                busy += 1
            await asyncio.sleep(chance.uniform(0, LONGEST_LIFE))
            await asyncio.to_thread(server.stop, signal.SIGKILL)
            await working
        found = await sound(folder / "data", "tiny", bundle)
        assert len(found) - 1 >= max(crowd.told, versions), "a version that was told of is lost"
        versions = len(found) - 1
    assert versions >= busy > kills // 3, "it was not under load"
    assert len([one for one in found if one.let_go is None]) <= 6


def kill_while_it_starts(server: Server, seconds: float) -> None:
    server.launch()
    with suppress(subprocess.TimeoutExpired):
        server.process.wait(seconds)
    server.stop(signal.SIGKILL)
