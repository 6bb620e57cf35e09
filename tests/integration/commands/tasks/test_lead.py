"""`minga task pause` and its kin, run as owners run them, with an API token against a real server."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Iterator

import pytest

from backend.web.pages.participant_names import participant_name
from tests.support.programs.program_process import Preload, run
from tests.support.tasks.tiny_task import write_task
from tests.support.web.rounds_client import Client
from tests.support.web.server_process import Server, running
from tests.support.web.visitors import Visitor, operator, program


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("leading")
    write_task(folder / "tasks" / "tiny")
    with running(folder / "tasks", folder / "data") as server:
        yield server


@pytest.fixture(scope="module")
def ann(server: Server) -> Visitor:
    return operator(server)


def minga(token: str | None, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {"COLUMNS": "200"} | ({} if token is None else {"MINGA_TOKEN": token})
    return run(Preload.SERVER, "backend", "task", *words, environment=environment)


async def ask(token: str | None, *words: str) -> subprocess.CompletedProcess[str]:
    """The same beside an open connection, which is to stay alive meanwhile."""
    return await asyncio.to_thread(minga, token, *words)


async def test_owners_lead_their_task_from_a_terminal(server: Server, ann: Visitor) -> None:
    token = program(ann, "manage", "inspect").token
    where = ("--server", server.url)
    async with Client(server.url) as one:
        paused = await ask(token, "pause", "tiny", "--reason", "Lunch.", "--json", *where)
        assert json.loads(paused.stdout)["state"] == "paused"
        assert json.loads(paused.stdout)["reason"] == "Lunch."
        listed = await ask(token, "participants", "tiny", *where)
        assert one.id in listed.stdout
        assert participant_name(one.id) in listed.stdout
        banned = await ask(token, "ban", "tiny", one.id, "--reason", "Nonsense.", *where)
        assert banned.stdout == f"{one.id} is banned from now on.\n"
    (row,) = json.loads((await ask(token, "participants", "tiny", "--json", *where)).stdout)["participants"]
    assert (row["client"], row["banned"]) == (one.id, "Nonsense.")
    assert "may come in again" in (await ask(token, "unban", "tiny", one.id, *where)).stdout
    resumed = await ask(token, "resume", "tiny", *where)
    assert resumed.stdout == "tiny is live. Possible commands: pause, finish, stop.\n"


def test_what_cannot_be_is_refused_with_a_sentence(server: Server, ann: Visitor) -> None:
    where = ("--server", server.url)
    spy = program(ann, "inspect").token
    refusals = [
        (None, ("pause", "tiny", *where), "make one on the server's page /account"),
        (spy, ("pause", "tiny", *where), "token"),
        (program(ann, "manage").token, ("resume", "tiny", *where), "A task that is live has no 'resume'."),
        ("minga_" + "x" * 43, ("pause", "tiny", *where), "token"),
        (spy, ("participants", "tiny", "--server", "http://minga.example.org"), "use https"),
    ]
    for token, words, sentence in refusals:
        done = minga(token, *words)
        assert (done.returncode, done.stdout) == (2, "")
        assert sentence in done.stderr
        assert token is None or token not in done.stderr
