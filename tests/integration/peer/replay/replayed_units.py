"""Units of 256 steps on `digits`, clients that send results of them, and `minga replay`."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import msgspec

from backend.peer.replay.unit_facts import Work
from backend.wire.messages import Ready
from backend.wire.unit_messages import Counted, Rejected, Unit, Want
from tests.support.programs.program_process import Preload, run
from tests.support.timeouts import PATIENCE
from tests.support.web.server_process import Server
from tests.support.web.unit_client import UnitClient

STEPS = 256
Answer = dict[str, Any]


def replay(server: Server, *words: str | Path | int) -> subprocess.CompletedProcess[str]:
    """`minga replay digits <words>`, at its end."""
    return run(Preload.SERVER, "backend", "replay", "digits", *map(str, words), "--server", server.url)


def report(server: Server, *words: str | Path | int, code: int = 0) -> Answer:
    """What `minga replay digits <words> --json` prints."""
    done = replay(server, *words, "--json")
    assert done.returncode == code, f"{done.returncode}: {done.stdout}{done.stderr}"
    found: Answer = json.loads(done.stdout)
    return found


def work_of(server: Server, unit: int) -> Work:
    """What the server says that a unit was."""
    return msgspec.convert(server.get(f"/api/tasks/digits/units/{unit}")["work"], Work)


def blob(server: Server, address: str) -> bytes:
    """A file of the server's."""
    with urlopen(f"{server.url}/blobs/{address}", timeout=PATIENCE) as answer:
        content: bytes = answer.read()
        return content


def deliver(server: Server, train: Callable[[Unit], Answer] | None = None) -> tuple[str, int]:
    """Has a new client of the class `exact` lease a unit and send what `train` answers, if that is given.

    Returns the client and the unit's number.
    """
    return asyncio.run(_deliver(server, train))


async def _deliver(server: Server, train: Callable[[Unit], Answer] | None) -> tuple[str, int]:
    async with UnitClient(server.url, task="digits", backend="exact") as client:
        await client.say(Ready(backend="exact", step_ms=5.0, examples=0))
        await client.say(Want(1))
        unit = await client.next(Unit)
        if train is not None:
            answer = await asyncio.to_thread(train, unit)
            names = ("examples", "steps", "loss", "sums", "checkpoints")
            figures = {name: answer[name] for name in names if name in answer}
            await client.deliver(unit, answer["update"], **figures)
            await client.next(Counted, Rejected)
        return client.id, unit.unit
