"""Records the data folder that a killed server of some checkout leaves, for tests of upgrades.

`python -m tests.support.stores.data_folder_recorder TREE FILE.zip` starts the server of the checkout TREE,
plays rounds, work units and a mesh with it, makes an account and a draft, and kills the server while a round
is open. FILE.zip then holds `tasks/`, `data/` and `recorded.json`.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import zipfile
from contextlib import AsyncExitStack
from pathlib import Path

import numpy as np

from backend.wire.mesh_messages import Deposit, Group
from backend.wire.messages import Train
from tests.support.stores.data_folder_state import state_of
from tests.support.tasks.tiny_task import SIZE, write_mesh, write_task, write_units
from tests.support.web.draft_client import Drafter
from tests.support.web.mesh_client import MeshPeer
from tests.support.web.rounds_client import Client
from tests.support.web.server_process import Server
from tests.support.web.unit_client import UnitClient
from tests.support.web.visitors import Visitor, operator, program

# An epoch of work units has six; two more begin the next one.
ROUNDS, UNITS = 3, 8
# One result of a unit is enough, and none is compared.
ALONE = {"replicas": 1, "spot_checks": 0.0}


class OtherServer(Server):
    """The server of another checkout."""

    def __init__(self, tree: Path, folder: Path) -> None:
        super().__init__(folder / "tasks", folder / "data")
        self._tree = tree

    def launch(self) -> None:
        """Starts it."""
        self.process = subprocess.Popen(  # type: ignore[assignment]  # Has the members of Process that are used.
            [sys.executable, "-m", "backend", *self.words],
            cwd=self._tree,
            env={**os.environ, "PYTHONPATH": str(self._tree)},
            stdout=subprocess.PIPE,
            text=True,
        )


async def play(url: str) -> None:
    """Plays all three schemes, the rounds last: they leave a round open with one of two updates delivered."""
    await _play_units(url)
    await _play_mesh(url)
    await _play_rounds(url)


async def _play_rounds(url: str) -> None:
    async with Client(url, "rounds") as first, Client(url, "rounds") as second:
        for client in (first, second):
            await client.ready()
        for number in range(ROUNDS + 1):
            plans = [await client.selected() for client in (first, second)]
            await first.deliver(plans[0], np.full(SIZE, 1.0 + number, np.float32))
            if number < ROUNDS:
                await second.deliver(plans[1], np.full(SIZE, 2.0, np.float32))


async def _play_units(url: str) -> None:
    async with UnitClient(url, "units") as client:
        await client.ready()
        for _ in range(UNITS):
            [unit] = await client.units(1)
            await client.deliver(unit, np.full(SIZE, 0.5, np.float32), steps=2)


async def _play_mesh(url: str) -> None:
    async with AsyncExitStack() as stack:
        peers = [await stack.enter_async_context(MeshPeer(url, "mesh")) for _ in range(2)]
        for peer in peers:
            await peer.ready()
        for peer in peers:
            await peer.trained(await peer.next(Train))
        weights = np.full(SIZE, 3.0, "<f4").tobytes()
        for peer in peers:
            await peer.averaged(await peer.next(Group), weights, range(2))
        await asyncio.wait(
            [asyncio.create_task(peer.next(Deposit)) for peer in peers],
            return_when=asyncio.FIRST_COMPLETED,
        )
        assert await peers[0].put(weights) == 204


def make_draft(server: Server) -> str:
    """Makes an account, a program's token, which is returned, and a draft with a model file."""
    token = program(operator(server), "create").token
    assert token is not None
    drafter = Drafter(Visitor(server.url, token))
    drafter.upload(drafter.begin("pets"), "model", "model.keras", b"PK\x03\x04 a model")
    return token


def record(tree: Path, target: Path) -> None:
    """Writes the zip `target` of a data folder that the server of `tree` leaves."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_task(folder / "tasks" / "rounds")
        write_units(folder / "tasks" / "units", trust=ALONE)
        write_mesh(folder / "tasks" / "mesh", averaging="{ patience = 0.5 }")
        server = OtherServer(tree, folder)
        server.start()
        token = make_draft(server)
        asyncio.run(play(server.url))
        recorded = {"token": token, "state": state_of(server, token)}
        server.stop(signal.SIGKILL)
        (folder / "recorded.json").write_text(json.dumps(recorded, indent=1, sort_keys=True), "utf-8")
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in sorted(folder.rglob("*")):
                archive.write(file, file.relative_to(folder))


if __name__ == "__main__":
    record(Path(sys.argv[1]).resolve(), Path(sys.argv[2]))
