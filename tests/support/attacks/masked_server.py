"""Runs a server of a task with masked rounds behind a reverse proxy, whose clients come from any address."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from backend.wire.messages import State
from tests.support.tasks.tiny_task import write_task
from tests.support.web.rounds_client import Client
from tests.support.web.server_process import Server, running

# Of 40 clients a round selects 10, the fewest among which an update is masked.
CROWD, SEATS = 40, 10
PLAN: dict[str, Any] = {
    "min_available_clients": CROWD,
    "fraction_train": SEATS / CROWD,
    "min_train_clients": SEATS,
    "quorum": SEATS,
}


@contextmanager
def masked_server(folder: Path, plan: dict[str, Any] = PLAN, **masking: Any) -> Iterator[Server]:
    """Yields a server of the task `tiny`, which takes this machine for a trusted proxy."""
    write_task(folder / "tasks" / "tiny", **plan)
    table = {"min_clients": SEATS, **masking}
    with (folder / "tasks" / "tiny" / "task.toml").open("a") as file:
        file.write('aggregation = ["masked"]\n[security.masking]\n')
        file.writelines(f"{key} = {json.dumps(value)}\n" for key, value in table.items())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MINGA_TRUSTED_PROXIES", "127.0.0.1")
        with running(folder / "tasks", folder / "data") as server:
            yield server


async def join(stack: AsyncExitStack, server: Server, address: str, token: str | None = None) -> Client:
    """Returns a client that came from `address` and is not ready yet."""
    client = Client(server.url, token=token, aggregation=["masked"], headers={"X-Forwarded-For": address})
    return await stack.enter_async_context(client)


async def cohort(clients: list[Client]) -> set[str]:
    """Makes all clients ready; returns the ids of those that the first round trains with."""
    for client in clients:
        await client.ready()
    opened = None
    while opened is None or opened.round == 0 or opened.phase != "training":
        opened = await clients[0].next(State)
    return {one.client for one in opened.participants if one.status == "training"}
