"""Versions that did not pass their check are not offered: over HTTP, on pages, and after restarts."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from backend.__main__ import main
from backend.wire.messages import Accepted, Version
from tests.support.tasks.checked_task import write_checked
from tests.support.tasks.tiny_task import SIZE, write_task
from tests.support.timeouts import HEAVY, PATIENCE
from tests.support.web.rounds_client import Client
from tests.support.web.server_process import Server, running
from tests.support.web.visitors import Visitor, operator, program

pytestmark = [pytest.mark.tensorflow, pytest.mark.timeout(HEAVY)]

TASK = "/api/tasks/tiny"


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    return write_checked(tmp_path / "tasks" / "tiny").parent


async def train(server: Server, rounds: int) -> None:
    async with Client(server.url) as client:
        await client.ready()
        for _ in range(rounds):
            plan = await client.selected()
            assert isinstance(await client.deliver(plan, np.ones(SIZE)), Accepted)
            await client.next(Version)


def npz(visitor: Visitor, number: int) -> int:
    """Returns the status with which a visitor gets a version's files."""
    address = f"http://{visitor.host}{TASK}/versions/{number}/npz"
    return httpx.get(address, cookies=visitor.cookies, timeout=PATIENCE).status_code


async def checked(server: Server, number: int) -> str:
    found: str = await until(lambda: status(server, number), lambda found: found != "unchecked")
    return found


def status(server: Server, number: int) -> str:
    found: str = server.get(f"{TASK}/versions/{number}")["check"]
    return found


async def until(read: Callable[[], Any], enough: Callable[[Any], bool]) -> Any:
    deadline = time.monotonic() + HEAVY
    while not enough(value := await asyncio.to_thread(read)):
        assert time.monotonic() < deadline, value
        await asyncio.sleep(0.1)
    return value


async def test_a_version_that_cannot_be_checked_is_withheld_until_its_owner_accepts_it(
    tasks: Path, tmp_path: Path
) -> None:
    with running(tasks, tmp_path / "data") as server:
        owner, guest = operator(server), Visitor(server.url)
        await train(server, 3)
        assert await checked(server, 2) == "unmeasured"
        assert [status(server, number) for number in (0, 1, 3)] == ["own", "unchecked", "unchecked"]
        summary = server.get(TASK)
        assert (summary["version"], summary["offered"]) == (3, 0)

        refused = guest.ask("GET", f"{TASK}/versions/2/npz", status=403)
        assert refused["error"]["code"] == "withheld"
        assert refused["error"]["message"].endswith("Take version 0, which is offered.")
        assert (npz(guest, 0), npz(guest, 2), npz(owner, 2)) == (200, 403, 200)

        page = guest.ask("GET", "/tasks/tiny", Accept="text/html")
        assert "Version 0 is offered for trying and downloading." in page
        assert "not offered: it could not be checked" in page
        version_page = guest.ask("GET", "/tasks/tiny/versions/2", Accept="text/html")
        assert "This version is not offered." in version_page
        assert "/versions/2/npz" not in version_page
        assert "/versions/2/npz" in owner.ask("GET", "/tasks/tiny/versions/2", Accept="text/html")

        report = await until(lambda: owner.ask("GET", f"{TASK}/dashboard"), lambda now: now["alerts"])
        assert report["integrity"]["question"]["version"] == 2
        assert report["alerts"][0]["text"].startswith("Version 2 could not be checked for backdoors:")

        guest.ask("POST", f"{TASK}/accept", {"version": 2}, status=401)
        owner.ask("POST", f"{TASK}/accept", {"version": 1}, status=404)
        assert owner.ask("POST", f"{TASK}/accept", {"version": 2})["check"] == "accepted"
        owner.ask("POST", f"{TASK}/accept", {"version": 2}, status=409)
        assert server.get(TASK)["offered"] == 2
        assert npz(guest, 2) == 200
        await until(lambda: owner.ask("GET", f"{TASK}/dashboard")["alerts"][0]["cleared"], bool)


@pytest.mark.long
async def test_a_check_that_a_restart_interrupted_is_made_by_the_next_server(
    tasks: Path, tmp_path: Path
) -> None:
    with running(tasks, tmp_path / "data") as server:
        await train(server, 2)
        server.stop(signal.SIGKILL)
    with running(tasks, tmp_path / "data") as server:
        assert await checked(server, 2) == "unmeasured"
    with running(tasks, tmp_path / "data") as server:
        assert (status(server, 2), server.get(TASK)["offered"]) == ("unmeasured", 0)


@pytest.mark.long
async def test_training_pauses_if_the_task_says_so_and_the_command_accepts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_checked(tmp_path / "tasks" / "tiny", 'every = 2\non_failure = "pause"')
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        owner = operator(server)
        await train(server, 2)
        await until(lambda: server.get(TASK)["state"], lambda state: state == "paused")
        reason = owner.ask("GET", f"{TASK}/dashboard")["reason"]
        assert reason.startswith("Version 2 did not pass its integrity check")
        monkeypatch.setenv("MINGA_TOKEN", program(owner, "manage").token or "")
        words = ["task", "accept", "tiny", "2", "--server", server.url]
        assert await asyncio.to_thread(main, words) == 0
        assert "Version 2 of tiny may be offered" in capsys.readouterr().out
        assert server.get(TASK)["offered"] == 2


def test_a_task_that_this_server_cannot_check_is_not_served(tmp_path: Path) -> None:
    folder = write_task(tmp_path / "tasks" / "tiny")
    with (folder / "task.toml").open("a") as file:
        file.write("\n[security.integrity]\n")
    write_task(tmp_path / "tasks" / "other")
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        assert "measures the Keras model, which its bundle lacks" in server.get("/readyz")["left_out"]["tiny"]
