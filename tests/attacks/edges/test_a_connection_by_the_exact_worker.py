"""Gain: a connection from the machine of an exact peer, made by the worker that trains in Node.js."""

from __future__ import annotations

import asyncio
import hashlib
import json
import socket
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from backend.commands.build import build_task
from backend.errors import PeerError
from backend.peer.exact.worker_process import WorkerProcess
from backend.settings import assets_folder

SETUP = {"backend": "exact", "avoid": [], "sliced": False}


class Task:
    """A built task's files by their hash."""

    def __init__(self, built: Path) -> None:
        self._blobs: dict[str, bytes] = {}
        for path in built.rglob("*"):
            if path.is_file():
                self.store(path.read_bytes())
        self.manifest = (built / "bundle" / "bundle.json").read_bytes()
        self.weights = (built / "bundle" / "weights.bin").read_bytes()
        index = json.loads((built / "shards" / "shards.json").read_bytes())["train"][0]
        self.shard = self.store((built / "shards" / index["file"]).read_bytes())

    def store(self, content: bytes) -> str:
        address = hashlib.sha256(content).hexdigest()
        self._blobs[address] = content
        return address

    async def get(self, sha256: str, at_most: int = 0) -> bytes:
        del at_most
        if sha256 not in self._blobs:
            raise PeerError(f"There is no blob {sha256}.")
        return self._blobs[sha256]


@pytest.fixture(scope="module")
def built() -> Path:
    folder = assets_folder() / "models" / "digits"
    build_task(folder)
    return folder / "built"


@pytest.fixture
def task(built: Path) -> Task:
    return Task(built)


@pytest.fixture
async def worker(task: Task) -> AsyncIterator[WorkerProcess]:
    one = WorkerProcess(task)
    await one.start()
    yield one
    await one.close()


def internet_sockets(process: int) -> set[str]:
    """Returns the inodes of the process' own sockets of TCP and UDP."""
    own = set[str]()
    for path in Path(f"/proc/{process}/fd").iterdir():
        # What was closed since it was listed has no name any more.
        with suppress(FileNotFoundError):
            name = str(path.readlink())
            if name.startswith("socket:"):
                own.add(name.removeprefix("socket:[").removesuffix("]"))
    known: set[str] = set()
    for protocol in ("tcp", "tcp6", "udp", "udp6"):
        lines = Path(f"/proc/{process}/net/{protocol}").read_text("ascii").splitlines()[1:]
        known |= {line.split()[9] for line in lines}
    return own & known


def process_of(worker: WorkerProcess) -> int:
    assert worker._process is not None
    return worker._process.pid


async def test_a_worker_that_loads_and_trains_has_no_socket(worker: WorkerProcess, task: Task) -> None:
    seen: set[str] = set()
    begun: list[int] = []

    async def watch() -> None:
        while True:
            seen.update(internet_sockets(process_of(worker)))
            await asyncio.sleep(0.002)

    watching = asyncio.create_task(watch())
    await worker.ask(_load("minga:", task.store(task.manifest)))
    await worker.ask(_training(task, task.shard), lambda told: begun.append(told["step"]))
    assert not watching.done()
    watching.cancel()
    assert begun
    assert seen == set()


async def test_an_open_socket_of_a_process_is_seen() -> None:
    program = "require('node:net').createServer().listen(0, '127.0.0.1', () => console.log('open'))"
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec("node", "-e", program, stdout=pipe)
    assert process.stdout is not None
    await process.stdout.readline()
    assert len(internet_sockets(process.pid)) == 1
    process.kill()
    await process.wait()


@pytest.mark.parametrize("where", ["origin", "bundle", "file", "shard"])
async def test_an_address_in_place_of_a_hash_is_not_fetched(
    where: str, worker: WorkerProcess, task: Task
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.5)
        site = f"http://127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(PeerError):
            await _ask_for(where, site, worker, task)
        with pytest.raises(TimeoutError):
            server.accept()
    assert internet_sockets(process_of(worker)) == set()


async def _ask_for(where: str, site: str, worker: WorkerProcess, task: Task) -> None:
    """Gives the worker an address of `site` where a hash or the peer's own origin belongs."""
    manifest: dict[str, Any] = json.loads(task.manifest)
    if where == "file":
        manifest["files"]["train/model.json"]["sha256"] = f"{site}/model.json"
    bundle = task.store(json.dumps(manifest).encode())
    origin = site if where == "origin" else "minga:"
    await worker.ask(_load(origin, f"{site}/bundle" if where == "bundle" else bundle))
    await worker.ask(_training(task, f"{site}/shard"))


def _load(origin: str, bundle: str) -> dict[str, Any]:
    return {"type": "load", "origin": origin, "bundle": bundle, "setup": SETUP}


def _training(task: Task, shard: str) -> dict[str, Any]:
    """Returns the message that trains 20 steps on a shard."""
    plan = {"seed": 7, "epochs": 0, "steps": 20, "batchSize": 32, "learningRate": 0.01, "pastSteps": 0}
    absent = dict.fromkeys(("control", "privacy", "protection", "until", "unit"), None)
    return {
        "type": "train",
        "weights": task.weights,
        "plan": plan | absent | {"proximalMu": 0.0, "shards": [shard]},
    }
