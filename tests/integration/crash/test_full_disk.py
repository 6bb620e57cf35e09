"""Disks that are full or read-only, as a server meets them, until they are well again."""

from __future__ import annotations

import asyncio
import resource
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest

from backend.wire.messages import Accepted
from tests.integration.crash.data_folder import sound
from tests.support.environment.small_disk import read_only, small_disk
from tests.support.tasks.tiny_task import SIZE, write_task
from tests.support.timeouts import PATIENCE
from tests.support.web.http_requests import ask
from tests.support.web.rounds_client import Client
from tests.support.web.server_process import Server, running

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of other processes are Linux'")


def limit_files(server: Server, size: int) -> None:
    """No file of the server may grow beyond `size` bytes: what writes more fails."""
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


async def until(server: Server, troubled: bool) -> str | None:
    """What the task says of its trouble, once it has some or none."""
    async with asyncio.timeout(PATIENCE):
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


def fill(disk: Path) -> Path:
    """A file that leaves no space on `disk`."""
    ballast = disk / "ballast"
    with suppress(OSError), ballast.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    return ballast


async def trouble_and_recovery(server: Server, breaking: Callable[[], AbstractContextManager[None]]) -> str:
    """What a task says while its data folder is `breaking`; it goes on where it was when that ends."""
    async with Client(server.url) as client:
        await client.ready()
        plan = await client.selected()
        with breaking():
            assert isinstance(await client.deliver(plan, np.ones(SIZE)), Accepted)
            trouble = await until(server, troubled=True)
            readiness = await asyncio.to_thread(ask, server, "/readyz")
            assert (readiness[0], "tiny" in readiness[1]) == (503, True)
            assert (await asyncio.to_thread(ask, server, "/tasks/tiny"))[0] == 200
        await until(server, troubled=False)
        following = await client.selected()
        assert (following.round, following.version) == (plan.round + 1, plan.version + 1)
    assert trouble is not None
    return trouble


@contextmanager
def full(disk: Path) -> Iterator[None]:
    ballast = fill(disk)
    try:
        yield
    finally:
        ballast.unlink()


@pytest.mark.requires("mounts")
async def test_a_disk_without_space_is_told_and_left_by_itself(tmp_path: Path) -> None:
    write_task(tmp_path / "tasks" / "tiny", min_available_clients=1)
    with small_disk(tmp_path / "disk", "8m") as disk, running(tmp_path / "tasks", disk / "data") as server:
        trouble = await trouble_and_recovery(server, lambda: full(disk))
        assert "the disk is full. Free some space" in trouble
        assert str(disk) in trouble
        bundle = server.get("/api/tasks/tiny")["bundle"]
        server.stop()
        assert len(await sound(disk / "data", "tiny", bundle)) == 2


@pytest.mark.requires("mounts")
async def test_a_folder_that_becomes_read_only_is_told_and_left_by_itself(tmp_path: Path) -> None:
    write_task(tmp_path / "tasks" / "tiny", min_available_clients=1)
    blobs = tmp_path / "data" / "blobs"
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        trouble = await trouble_and_recovery(server, lambda: read_only(blobs))
    assert "the disk is read-only. Make it writable" in trouble
    assert str(blobs) in trouble


@pytest.mark.requires("mounts")
def test_a_data_folder_that_is_read_only_from_the_start_is_a_sentence(tmp_path: Path) -> None:
    write_task(tmp_path / "tasks" / "tiny")
    with running(tmp_path / "tasks", tmp_path / "data"):
        pass
    with read_only(tmp_path / "data"):
        server = Server(tmp_path / "tasks", tmp_path / "data", log=tmp_path / "log")
        server.launch()
        assert server.process.wait(PATIENCE) == 2
        server.stop()
    said = (tmp_path / "log").read_text()
    assert f"Nothing can be written into the data folder {tmp_path / 'data'}: the disk is read-only" in said
    assert "Traceback" not in said
