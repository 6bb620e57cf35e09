"""Runs a server of a task that asks something of newcomers, whose clients come from any address."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.tasks.tiny_task import write_task
from tests.support.web.rounds_client import Client
from tests.support.web.server_process import Server, running


@contextmanager
def newcomers_server(folder: Path, access: str, *flags: str, **coordination: Any) -> Iterator[Server]:
    """Yields a server of the task `tiny`, which takes this machine for a trusted proxy.

    `access` are the lines of its table [access].
    """
    task = write_task(folder / "tasks" / "tiny", **coordination)
    with (task / "task.toml").open("a") as file:
        file.write(f"[access]\n{access}\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MINGA_TRUSTED_PROXIES", "127.0.0.1")
        with running(folder / "tasks", folder / "data", *flags) as server:
            yield server


async def join(stack: AsyncExitStack, server: Server, address: str, token: str | None = None) -> Client:
    """Returns a client that came from `address` and is not ready yet."""
    client = Client(server.url, token=token, headers={"X-Forwarded-For": address})
    return await stack.enter_async_context(client)
