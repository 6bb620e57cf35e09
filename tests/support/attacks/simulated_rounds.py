"""Runs masked rounds with a real host and real maskers on virtual time; some programs are attackers'."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from backend.peer.rounds import masking_host
from backend.peer.rounds.masking_secrets import RoundSecrets
from backend.server.tasks.task import Task, load_task
from backend.simulation import clock
from backend.simulation.client_work import ClientBehaviour
from backend.simulation.clients import Traits
from backend.simulation.network import Pipe, SimulatedLine
from backend.simulation.synthetic_training import SyntheticTraining
from backend.simulation.world import World
from backend.stores.contracts import RoundRecord
from backend.stores.embedded import Stores, open_stores
from backend.wire.client_id import client_id
from tests.support.tasks.tiny_task import OPS, write_task

SEED = 0


def token(number: int) -> str:
    """Returns the token of a simulated client."""
    return f"client-{number:020d}"


def play(
    folder: Path,
    clients: int,
    attackers: dict[int, type[RoundSecrets]],
    rounds: int,
    restarts: int = 0,
    task_rounds: int = 100,
    **plan: Any,
) -> Sequence[RoundRecord]:
    """Plays up to `rounds` masked rounds, whether they succeed or not, within an hour.

    `attackers` have secrets of their own. The task has `task_rounds`. Its server is killed and started again
    so many times, every minute.
    """
    chosen = {"rounds": task_rounds, "deadline": 20, "min_available_clients": 4, "quorum": 4, **plan}
    path = write_task(folder / "tiny", zeros=True, **chosen) / "task.toml"
    masks = ("security.aggregation=['masked']", "security.masking.min_clients=4", "training.steps=3")
    programs = {client_id(token(number)): secrets for number, secrets in attackers.items()}
    stores = open_stores(folder / "data")
    try:
        task = asyncio.run(load_task(path, masks, frozenset(OPS), stores.blobs))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(masking_host, "RoundSecrets", partial(_secrets, programs))
            return clock.run(_play(task, stores, clients, rounds, restarts), lambda: 0.01)
    finally:
        asyncio.run(stores.close())


def _secrets(
    programs: dict[str, type[RoundSecrets]], terms: Any, client: str, identity: bytes, draw: Any
) -> RoundSecrets:
    return programs.get(client, RoundSecrets)(terms, client, identity, draw)


async def _play(
    task: Task, stores: Stores, clients: int, rounds: int, restarts: int
) -> Sequence[RoundRecord]:
    run = await stores.records.open_run(task.file.name, task.bundle.address)
    world = World(task, stores.records, stores.blobs, run, 100.0)
    await world.open_server()
    for number in range(clients):
        random = Random(number)
        line = SimulatedLine(Pipe(1e6), Pipe(1e6), random.uniform(0.01, 0.1))
        traits = Traits(token(number), "laptop", "browser", "simulated", 0.3, line)
        work = SyntheticTraining(task.bundle.manifest, (*task.shards.train, *task.shards.measured), SEED)
        client = world.add_client(traits, work, _behave, random)
        asyncio.get_running_loop().call_later(random.random(), client.start)
    for second in range(1, 3601):
        await asyncio.sleep(1.0)
        if second % 60 == 0 and second // 60 <= restarts:
            await world.kill_server()
            await world.open_server()
        if len(records := await stores.records.rounds(run)) >= rounds:
            break
    await world.kill_server()
    return records[:rounds]


def _behave(_busy: float) -> ClientBehaviour:
    return ClientBehaviour()
