"""A disk that is full, as a server meets it: files may grow no more, until they may again."""

from __future__ import annotations

import asyncio
import resource
import sys
from pathlib import Path

import numpy as np
import pytest

from backend.wire.messages import Accepted
from tests.crash.folder import sound
from tests.tiny import SIZE, write_task
from tests.web.client import Client
from tests.web.running import Server, running

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of other processes are Linux'")


def limit_files(server: Server, size: int) -> None:
    """No file of the server may grow beyond `size` bytes: what writes more fails."""
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


async def until(server: Server, troubled: bool) -> str | None:
    """What the task says of its trouble, once it has some or none."""
    async with asyncio.timeout(30):
        while True:
            trouble: str | None = (await asyncio.to_thread(server.get, "/api/tasks/tiny"))["trouble"]
            if (trouble is not None) is troubled:
                return trouble
            await asyncio.sleep(0.05)


async def test_a_full_disk_pauses_a_round_that_goes_on_by_itself(tmp_path: Path) -> None:
    write_task(tmp_path / "tasks" / "tiny", min_available_clients=1)
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        async with Client(server.url) as client:
            await client.ready()
            plan = await client.selected()
            limit_files(server, 16)
            assert isinstance(await client.deliver(plan, np.ones(SIZE)), Accepted)
            trouble = await until(server, troubled=True)
            assert trouble is not None
            assert "files may not become that large" in trouble
            # Everything else is served meanwhile, and no round is burnt.
            task = await asyncio.to_thread(server.get, "/api/tasks/tiny")
            assert (task["phase"], task["round"], task["version"]) == ("aggregating", 1, 0)
            limit_files(server, resource.RLIM_INFINITY)
            await until(server, troubled=False)
            following = await client.selected()
            assert (following.round, following.version) == (2, 1)
    versions = await sound(tmp_path / "data", "tiny", task["bundle"])
    assert [one.accepted for one in versions] == [0, 1]
