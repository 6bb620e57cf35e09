"""Rounds of a real server with [security.reputation], in which clients send given updates."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from backend.wire.messages import Accepted, Refused, Train, Version
from tests.support.tasks.tiny_task import SIZE, write_task
from tests.support.web.rounds_client import Client
from tests.support.web.server_process import Server, running

Update = NDArray[np.float32]
COMMON = np.random.default_rng(5).normal(0.1, 0.05, SIZE)


@contextmanager
def judging_server(folder: Path, clients: int, tables: str = "") -> Iterator[Server]:
    """Runs a server whose rounds need so many updates; `tables` follow that of reputation."""
    tiny = write_task(folder / "tasks" / "tiny", min_available_clients=clients, quorum=clients)
    with (tiny / "task.toml").open("a") as file:
        file.write(f"[security.reputation]\nquarantine = 2\n{tables}\n")
    with running(folder / "tasks", folder / "data") as server:
        yield server


def honest(client: int, number: int) -> Update:
    """An update of a client in a round: mostly what all have in common."""
    own = np.random.default_rng([client, number]).normal(0.0, 0.02, SIZE)
    return (COMMON + own).astype(np.float32)


def lie(client: int, number: int) -> Update:
    """The opposite of an honest update."""
    return -honest(client, number)


async def play(
    clients: Sequence[Client], updates: Mapping[int, Update]
) -> tuple[list[Accepted | Refused], Version]:
    """Plays a round of clients that are ready or reported; those without an update here are honest."""
    plans: list[Train] = await asyncio.gather(*(client.selected() for client in clients))
    answers = [
        await client.deliver(plan, updates.get(number, honest(number, plan.round)))
        for number, (client, plan) in enumerate(zip(clients, plans, strict=True))
    ]
    return answers, await clients[-1].next(Version)
