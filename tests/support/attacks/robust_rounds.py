"""One round of a real server whose clients send given updates, by a robust rule or the mean."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import numpy as np
from numpy.typing import NDArray

from backend.wire.messages import Accepted, Train, Version
from tests.support.tasks.tiny_task import write_task
from tests.support.timeouts import PATIENCE
from tests.support.web.rounds_client import Client
from tests.support.web.server_process import Server, running


@contextmanager
def robust_server(folder: Path, clients: int, robust: str = "", **task: Any) -> Iterator[Server]:
    """Runs a server whose rounds need so many updates; `robust` is its table, none is the mean."""
    task = {"min_available_clients": clients, "quorum": clients} | task
    tiny = write_task(folder / "tasks" / "tiny", **task)
    if robust:
        with (tiny / "task.toml").open("a") as file:
            file.write(f"[security.robust]\n{robust}\n")
    with running(folder / "tasks", folder / "data") as server:
        yield server


@asynccontextmanager
async def cohort(server: Server, count: int, task: str = "tiny") -> AsyncIterator[list[tuple[Client, Train]]]:
    """Joins so many clients of a task, until a round has selected all of them; yields each with its plan."""
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(Client(server.url, task)) for _ in range(count)]
        for client in clients:
            await client.ready()
        plans = await asyncio.gather(*(client.selected() for client in clients))
        yield list(zip(clients, plans, strict=True))


async def moved(
    server: Server, updates: Sequence[NDArray[np.float32]], examples: Sequence[int] | None = None
) -> NDArray[np.float64]:
    """Has a client send each of the `updates` in one round; returns by how much the model moved.

    Clients claim so many `examples`, by default those of their plans.
    """
    async with cohort(server, len(updates)) as members:
        before = weights_of(server, members[0][1].weights)
        for number, (client, plan) in enumerate(members):
            claimed = {"examples": examples[number]} if examples else {}
            assert isinstance(await client.deliver(plan, updates[number], **claimed), Accepted)
        version = await members[0][0].next(Version)
        assert version.accepted == len(updates)
    return weights_of(server, version.weights) - before


def weights_of(server: Server, address: str) -> NDArray[np.float64]:
    """Returns the weights at a blob's address."""
    with urlopen(f"{server.url}/blobs/{address}", timeout=PATIENCE) as answer:
        return np.frombuffer(answer.read(), "<f4").astype(np.float64)
