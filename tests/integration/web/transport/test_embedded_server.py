"""A server in the event loop of a program that does other things, too."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from backend.errors import MingaError
from backend.settings import Settings
from backend.web.app import build_app
from backend.web.transport.uvicorn_server import bind, serving
from tests.support.tasks.tiny_task import write_task
from tests.support.timeouts import PATIENCE


def answer(address: str) -> str:
    with urlopen(address, timeout=PATIENCE) as response:
        return str(response.read().decode())


async def test_it_serves_until_its_context_ends_and_leaves_signals_alone(tmp_path: Path) -> None:
    write_task(tmp_path / "tasks" / "tiny")
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    app = build_app(Settings(tmp_path / "data", (tmp_path / "tasks",), port=0))
    with bind("127.0.0.1", 0) as bound:
        async with serving(app, bound) as url:
            assert '"name":"tiny"' in (await asyncio.to_thread(answer, f"{url}/api/tasks")).replace(" ", "")
            assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == handlers
    with pytest.raises(URLError):
        await asyncio.to_thread(answer, f"{url}/api/tasks")


async def test_what_its_start_up_raises_reaches_the_caller(tmp_path: Path) -> None:
    app = build_app(Settings(tmp_path / "data", (tmp_path / "nothing",), port=0))
    with bind("127.0.0.1", 0) as bound, pytest.raises(MingaError, match=r"There is no task.toml"):
        async with serving(app, bound):
            pytest.fail("it started")
