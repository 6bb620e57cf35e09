"""What a server's log says while a page or peer trains."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from tests.support.timeouts import LONG
from tests.support.web.server_process import Server

# Flags of a server whose log `logged` reads.
LOGGED = ("--log-level", "debug", "--log-format", "json")


def logged(log: Path, event: str) -> list[dict[str, Any]]:
    """Returns the lines of an event."""
    lines = (json.loads(line) for line in log.read_text("utf-8").splitlines() if line.startswith("{"))
    return [line for line in lines if line["event"] == event]


async def finished(server: Server, task: str) -> AsyncIterator[Any]:
    """Yields the task's summary every half second until it is finished."""
    async with asyncio.timeout(LONG):
        while True:
            summary = await asyncio.to_thread(server.get, f"/api/tasks/{task}")
            yield summary
            if summary["phase"] == "finished":
                return
            await asyncio.sleep(0.5)
