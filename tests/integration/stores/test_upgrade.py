"""A server opens data folders that earlier servers left when they were killed, and trains on."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from backend.wire.mesh_messages import Group
from backend.wire.messages import Train, Version
from backend.wire.unit_messages import Counted
from tests.support.stores.data_folder_state import TASKS, state_of
from tests.support.tasks.tiny_task import SIZE
from tests.support.web.mesh_client import MeshPeer
from tests.support.web.rounds_client import Client
from tests.support.web.server_process import Server, running
from tests.support.web.unit_client import UnitClient

# Each is named after the commit whose server left it; tests.support.stores.data_folder_recorder made it.
FOLDERS = sorted((Path(__file__).parent / "data_folders").glob("*.zip"))


async def assert_rounds_continue(server: Server, before: int) -> None:
    """The version after `before` is made by two clients."""
    async with Client(server.url, "rounds") as first, Client(server.url, "rounds") as second:
        for client in (first, second):
            await client.ready()
        for client in (first, second):
            await client.deliver(await client.selected(), np.ones(SIZE, np.float32))
        assert (await first.next(Version)).version == before + 1


async def assert_units_continue(server: Server) -> None:
    """A result of a unit counts."""
    async with UnitClient(server.url, "units") as client:
        await client.ready()
        [unit] = await client.units(1)
        await client.deliver(unit, np.full(SIZE, 0.5, np.float32), steps=2)
        await client.next(Counted)


async def assert_mesh_continues(server: Server, address: str) -> None:
    """Two peers train from the weights at `address` and are put into a group."""
    async with MeshPeer(server.url, "mesh") as first, MeshPeer(server.url, "mesh") as second:
        for peer in (first, second):
            await peer.ready()
        plans = [await peer.next(Train) for peer in (first, second)]
        assert {plan.weights for plan in plans} == {address}
        for peer, plan in zip((first, second), plans, strict=True):
            await peer.trained(plan)
        assert len((await first.next(Group)).members) == 2


@pytest.mark.parametrize("archive", FOLDERS, ids=lambda path: path.stem)
async def test_what_an_earlier_server_left_is_opened_exported_and_trained_on(
    archive: Path, tmp_path: Path
) -> None:
    with zipfile.ZipFile(archive) as folder:
        folder.extractall(tmp_path)
    recorded: dict[str, Any] = json.loads((tmp_path / "recorded.json").read_text("utf-8"))
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        state = state_of(server, recorded["token"])
        assert state == recorded["state"]
        newest = {task: state[task]["versions"][-1] for task in TASKS}
        await assert_rounds_continue(server, newest["rounds"]["version"])
        await assert_units_continue(server)
        await assert_mesh_continues(server, newest["mesh"]["weights"])


def test_there_is_a_folder_to_open() -> None:
    assert FOLDERS
