"""Rounds of a real server with [security.kept_updates], in which clients send drawn updates."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backend.wire.messages import Accepted, Version
from tests.support.tasks.tiny_task import SIZE, write_task
from tests.support.timeouts import eventually
from tests.support.web.rounds_client import Client
from tests.support.web.server_process import Server
from tests.support.web.visitors import Visitor

CLIENTS = 5


def keeping_task(
    folder: Path, rounds: int, disk: int = 1, tables: str = "", clients: int = CLIENTS, **task: Any
) -> Path:
    """Writes a task that keeps the updates of so many rounds; `tables` follow that of kept updates."""
    write_task(folder, **{"min_available_clients": clients, "quorum": clients} | task)
    with (folder / "task.toml").open("a") as file:
        file.write(f"[security.kept_updates]\nrounds = {rounds}\ndisk = {disk}\n{tables}\n")
    return folder


def drawn(client: int, number: int, size: int = SIZE) -> NDArray[np.float32]:
    """The update of a client in a round."""
    return np.random.default_rng([client, number]).normal(0.1, 0.05, size).astype(np.float32)


async def tried(owner: Visitor, task: str, choice: dict[str, Any]) -> dict[str, Any]:
    """Has a rule tried on the kept updates of a task; returns the report once the try has ended."""
    path = f"/api/tasks/{task}/reaggregation"
    await asyncio.to_thread(owner.ask, "POST", path, choice, 202)
    reports: list[dict[str, Any]] = []

    def has_ended() -> bool:
        reports.append(owner.ask("GET", path))
        return reports[-1]["state"] not in ("waiting", "running")

    await asyncio.to_thread(eventually, has_ended, "the try did not end")
    return reports[-1]


async def is_kept(data: Path, task: str, number: int) -> None:
    """Waits until a round is kept, which is so soon after its version was announced."""
    path = data / "kept_updates" / task / f"{number}.updates"
    await asyncio.to_thread(eventually, path.exists, f"round {number} is not kept")


async def play_rounds(
    server: Server,
    task: str,
    rounds: int,
    clients: int = CLIENTS,
    extra: Sequence[Client] = (),
    size: int = SIZE,
) -> list[NDArray[np.float32]]:
    """Plays rounds of drawn updates, reversed ones of the first client; returns all that were accepted.

    Of the clients, those in `extra` are joined already.
    """
    sent: list[NDArray[np.float32]] = []
    async with AsyncExitStack() as stack:
        others = [Client(server.url, task) for _ in range(clients - len(extra))]
        joined = [*extra, *[await stack.enter_async_context(one) for one in others]]
        for client in joined:
            await client.ready()
        for _ in range(rounds):
            plans = await asyncio.gather(*(client.selected() for client in joined))
            for number, (client, plan) in enumerate(zip(joined, plans, strict=True)):
                update = drawn(number, plan.round, size) * (1 if number else -1)
                assert isinstance(await client.deliver(plan, update), Accepted)
                sent.append(update)
            await asyncio.gather(*(client.next(Version) for client in joined if client not in extra))
    return sent
