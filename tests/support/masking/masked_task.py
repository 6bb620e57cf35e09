"""A task of one masked round, and volunteers who train it."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import numpy as np
from numpy.typing import NDArray

from tests.support.masking.known_update_peers import volunteer
from tests.support.plugins import evidence
from tests.support.programs.program_process import Preload, Process
from tests.support.tasks.tiny_task import SIZE, write_task
from tests.support.timeouts import PATIENCE
from tests.support.web.server_process import Server, running

MORE = 5000
PARAMETERS = SIZE + MORE
CLIENTS, LEAST, CLIP = 4, 3, 4.0


def write_round(folder: Path, clients: int = CLIENTS, rounds: int = 1) -> None:
    """A task of so many rounds and clients."""
    plan: dict[str, Any] = {"rounds": rounds, "min_available_clients": clients, "quorum": LEAST}
    # Those who die at a chosen moment get so far on a busy machine, too.
    write_task(folder / "tasks" / "tiny", more=MORE, zeros=True, deadline=120, **plan)


def serving(
    folder: Path,
    clients: int = CLIENTS,
    rounds: int = 1,
    port: str = "0",
    settings: dict[str, str] | None = None,
    **masking: str,
) -> AbstractContextManager[Server]:
    """A server whose task has masked rounds of so many clients."""
    write_round(folder, clients, rounds)
    table = {"min_clients": str(LEAST), "clip": str(CLIP)} | masking
    chosen = {"security.aggregation": '["masked"]'}
    chosen |= {f"security.masking.{key}": value for key, value in table.items()} | (settings or {})
    flags = [word for key, value in chosen.items() for word in ("--set", f"tiny.{key}={value}")]
    return running(folder / "tasks", folder / "data", *flags, "--port", port)


def tokens(count: int = CLIENTS) -> list[str]:
    """Of so many clients."""
    return [secrets.token_urlsafe(24) for _ in range(count)]


async def train(url: str, clients: dict[str, dict[str, Any]]) -> None:
    """Each of `clients`, a token with its traits, takes part until the task is finished."""
    sessions = [volunteer(url, token, PARAMETERS, **traits) for token, traits in clients.items()]
    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(*(one.run(asyncio.Event()) for one in sessions))


def first_version(server: Server) -> NDArray[np.float32]:
    """What the first round added, since the model began at zero."""
    address = server.get("/api/tasks/tiny")["weights"]
    with urlopen(f"{server.url}/blobs/{address}") as answer:
        return np.frombuffer(answer.read(), "<f4")


@contextmanager
def dying(url: str, token: str, moment: str) -> Iterator[Process]:
    """A volunteer's process that is killed at `moment`."""
    # A random token may begin with a hyphen, and is no option then.
    words = ["--die", moment, "--", url, token, str(PARAMETERS)]
    log = evidence.log_file("volunteer")
    with Process(
        Preload.PEER, "tests.support.masking.known_update_peers", *words, log=log, output=log
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def ended(server: Server, seconds: float = PATIENCE) -> dict[str, Any]:
    """The first round, once it is recorded."""
    until = time.monotonic() + seconds
    while not (rounds := server.get("/api/tasks/tiny/rounds")["rounds"]):
        assert time.monotonic() < until, "the round did not end"
        time.sleep(0.1)
    first: dict[str, Any] = rounds[0]
    return first
