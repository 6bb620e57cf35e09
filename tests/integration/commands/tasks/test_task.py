"""`minga task`, run as its users run it, against a real server."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from backend.wire.messages import Accepted, Refused
from tests.support.environment.http_thread import serving
from tests.support.programs.program_process import Preload, run
from tests.support.tasks.tiny_task import SIZE, write_task
from tests.support.timeouts import PATIENCE
from tests.support.web.rounds_client import Client
from tests.support.web.server_process import Server, running

COMMAND = (sys.executable, "-m", "backend", "task")


def minga(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return run(Preload.SERVER, "backend", "task", *words, environment={"COLUMNS": "200", **environment})


def said(*words: str) -> str:
    done = minga(*words)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """`tiny` needs one client and two versions; `torn` is not served."""
    write_task(tmp_path / "tasks" / "tiny", min_available_clients=1, rounds=2, deadline=120)
    (write_task(tmp_path / "tasks" / "torn") / "bundle" / "weights.bin").write_bytes(b"1234")
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        yield server


async def lose_a_round(client: Client) -> None:
    assert isinstance(await client.deliver(await client.selected(), np.full(SIZE, np.nan)), Refused)


async def win_a_round(client: Client) -> None:
    assert isinstance(await client.deliver(await client.selected(), np.ones(SIZE)), Accepted)


async def test_tasks_and_rounds_are_told(server: Server) -> None:
    async with Client(server.url) as client:
        await client.ready()
        await lose_a_round(client)
        await win_a_round(client)
        await client.selected()
        at = ("--server", server.url)
        listed = await asyncio.to_thread(said, "list", *at)
        assert "1 of 2" in listed
        assert "Training round 3 now" in listed
        assert "not served:" in listed
        assert "weights.bin differs" in listed
        shown = await asyncio.to_thread(said, "show", "tiny", *at)
        for text in ("1 client", "10 parameters, 40 bytes", f"{server.url}/tasks/tiny", "The last 2 rounds"):
            assert text in shown
        log = (await asyncio.to_thread(said, "log", "tiny", *at)).splitlines()
        assert len(log) == 2
        assert "round 1  abandoned  0 of 1 client" in log[0]
        assert "refused: 1 × values not finite" in log[0]
        assert "round 2  version 1  1 of 1 client" in log[1]
        last = json.loads(await asyncio.to_thread(said, "log", "tiny", "--last", "1", "--json", *at))
        assert (last["event"], last["round"], last["made"]["version"]) == ("round", 2, 1)
        facts = json.loads(await asyncio.to_thread(said, "list", "--json", *at))
        assert [one["name"] for one in facts["tasks"]] == ["tiny"]
        assert list(facts["problems"]) == ["torn"]
        whole = json.loads(await asyncio.to_thread(said, "show", "tiny", "--json", *at))
        assert (whole["version"], len(whole["newest_rounds"])) == (1, 2)


def _hears_ctrl_c() -> None:
    """Who runs the tests in the background has it ignored by all its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Following:
    """`minga task log --follow`, read line by line."""

    def __init__(self, *words: str) -> None:
        self._process = subprocess.Popen(
            [*COMMAND, "log", *words, "--follow"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "COLUMNS": "200"},
            preexec_fn=_hears_ctrl_c,
        )

    async def line(self) -> str:
        assert self._process.stdout is not None
        return await asyncio.wait_for(asyncio.to_thread(self._process.stdout.readline), PATIENCE)

    async def complaint(self) -> str:
        assert self._process.stderr is not None
        return await asyncio.wait_for(asyncio.to_thread(self._process.stderr.readline), PATIENCE)

    async def end(self) -> tuple[int, str, str]:
        """Exit code, and the rest of what it said."""
        out, err = await asyncio.to_thread(self._process.communicate, timeout=PATIENCE)
        return self._process.returncode, out, err

    def interrupt(self) -> None:
        self._process.send_signal(signal.SIGINT)


async def test_a_log_is_followed_until_the_task_is_finished(server: Server) -> None:
    async with Client(server.url) as client:
        await client.ready()
        await win_a_round(client)
        second = await client.selected()
        following = Following("tiny", "--json", "--server", server.url)
        assert json.loads(await following.line())["made"]["version"] == 1
        await client.deliver(second, np.ones(SIZE))
        assert json.loads(await following.line())["made"]["version"] == 2
        assert await following.end() == (0, "", "")


@pytest.mark.skipif(sys.platform == "win32", reason="there Ctrl-C is no signal")
async def test_ctrl_c_ends_a_log_quietly(server: Server) -> None:
    async with Client(server.url) as client:
        await client.ready()
        await lose_a_round(client)
        following = Following("tiny", "--server", server.url)
        assert "round 1" in await following.line()
        following.interrupt()
        assert await following.end() == (130, "", "")


async def test_a_log_waits_for_a_server_that_restarts(tmp_path: Path) -> None:
    write_task(tmp_path / "tasks" / "tiny", min_available_clients=1)
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        port = server.url.rpartition(":")[2]
        async with Client(server.url) as client:
            await client.ready()
            await win_a_round(client)
            await client.selected()
        following = Following("tiny", "--server", server.url)
        assert "version 1" in await following.line()
    assert "Waiting for it." in await following.complaint()
    with running(tmp_path / "tasks", tmp_path / "data", "--port", port) as server:
        async with Client(server.url) as client:
            await client.ready()
            await win_a_round(client)
            await client.selected()
            while "version 2" not in await following.line():
                pass
    following.interrupt()
    code, _, err = await following.end()
    assert (code, err) == (130, "")


def test_a_server_that_is_not_running_is_a_sentence() -> None:
    done = minga("list", "--server", "127.0.0.1:9")
    assert (done.returncode, done.stdout) == (2, "")
    assert "No server answers at http://127.0.0.1:9" in done.stderr
    assert "Start one with `minga serve`, or give its address with --server URL." in done.stderr
    assert "No server answers at http://127.0.0.1:8" in minga("list", MINGA_SERVER="127.0.0.1:8").stderr


@pytest.mark.parametrize("action", ["show", "log"])
def test_a_task_that_is_not_there_is_told_with_those_that_are(server: Server, action: str) -> None:
    done = minga(action, "no/such task", "--server", server.url + "/")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"There is no task 'no/such task' at {server.url}. It has: tiny." in done.stderr


@pytest.mark.parametrize("address", ["ftp://x", "http://", "http://x:port", "http://x:0"])
def test_what_is_no_address_is_told(address: str) -> None:
    done = minga("list", "--server", address)
    assert done.returncode == 2
    assert f"'{address}' is not a server address; write it like http://127.0.0.1:8000." in done.stderr


def test_its_commands_start_without_what_only_servers_need() -> None:
    code = "import sys, backend.commands.tasks.task; print({'sqlalchemy', 'starlette'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


@contextmanager
def other_site(folder: Path) -> Iterator[str]:
    """Some web server that is not Minga."""
    handler = partial(SimpleHTTPRequestHandler, directory=str(folder))
    with serving(ThreadingHTTPServer(("127.0.0.1", 0), handler)) as origin:
        yield origin


@pytest.mark.parametrize("content", [None, "<html>", "[1]", '{"a": 1}'])
def test_another_web_server_is_told_apart(tmp_path: Path, content: str | None) -> None:
    (tmp_path / "api").mkdir()
    if content is not None:
        (tmp_path / "api" / "tasks").write_text(content)
    with other_site(tmp_path) as url:
        done = minga("list", "--server", url)
    assert done.returncode == 2
    assert f"{url} is no Minga server; check the address." in done.stderr


@pytest.mark.parametrize("last", ["0", "x", "1001"])
def test_a_wrong_number_of_rounds_is_told(last: str) -> None:
    done = minga("log", "tiny", "--last", last)
    assert done.returncode == 2
    assert f"a whole number from 1 to 1000 is needed, not '{last}'" in done.stderr
