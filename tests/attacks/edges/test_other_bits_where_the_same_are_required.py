"""A client takes part in a task of exact results without computing them, or by a program of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from backend.wire.messages import Closing, Ready, Train
from backend.wire.unit_messages import Unit, Want
from tests.support.tasks.pinned_task import MADE_UP, built_program, require_exact
from tests.support.tasks.tiny_task import write_mesh, write_task, write_units
from tests.support.web.mesh_client import MeshPeer
from tests.support.web.rounds_client import Client
from tests.support.web.server_process import Server, running
from tests.support.web.unit_client import UnitClient

CLIENTS: dict[str, Any] = {"rounds": Client, "units": UnitClient, "mesh": MeshPeer}
OTHER = "0" * 64


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of a task of each scheme that requires the same bits."""
    tasks = tmp_path_factory.mktemp("tasks")
    write_task(tasks / "rounds", min_available_clients=1)
    write_units(tasks / "units", trust={"replicas": 1, "spot_checks": 0.0})
    write_mesh(tasks / "mesh")
    for name in CLIENTS:
        require_exact(tasks / name, built_program())
    with running(tasks, tasks.parent / "data") as server:
        assert server.report["problems"] == {}
        yield server


async def answer(server: Server, task: str, backend: str, program: str | None) -> Closing:
    """What the server says to a peer that computes so."""
    async with CLIENTS[task](server.url, task) as client:
        await client.say(Ready(backend=backend, step_ms=1.0, examples=0, program=program))
        closing: Closing = await client.next(Closing)
        return closing


@pytest.mark.parametrize("task", list(CLIENTS))
@pytest.mark.parametrize(
    ("backend", "program", "sentence"),
    [
        ("exact", OTHER, "different program.*Install the version"),
        ("exact", None, "different program.*Install the version"),
        ("tensorflow-cpu", None, "tensorflow-cpu rounds differently. Join with --exact"),
        ("wasm", "own", "wasm rounds differently"),
    ],
)
async def test_a_client_that_computes_otherwise_is_sent_away(
    server: Server, task: str, backend: str, program: str | None, sentence: str
) -> None:
    told = built_program().program if program == "own" else program
    closing = await answer(server, task, backend, told)
    assert closing.code == "not-exact"
    assert re.search(sentence, closing.reason)


async def test_an_exact_client_gets_work_and_is_sent_away_once_it_computes_otherwise(server: Server) -> None:
    exact = Ready(backend="exact", step_ms=1.0, examples=0, program=built_program().program)
    async with UnitClient(server.url, "units") as units, Client(server.url, "rounds") as rounds:
        await units.say(exact)
        await units.say(Want(1))
        await units.next(Unit)
        await rounds.say(exact)
        await rounds.next(Train)
        for client in (units, rounds):
            await client.say(Ready(backend="webgl", step_ms=1.0, examples=0))
            assert (await client.next(Closing)).code == "not-exact"


async def test_a_client_that_does_not_say_what_computes_gets_nothing(server: Server) -> None:
    async with UnitClient(server.url, "units") as client:
        await client.say(Want(1))
        with pytest.raises(TimeoutError):
            await client.next(Unit, patience=1.0)


def test_pins_to_another_program_keep_the_task_from_being_served(tmp_path: Path) -> None:
    write_task(tmp_path / "tasks" / "good")
    require_exact(write_task(tmp_path / "tasks" / "tiny"), MADE_UP)
    require_exact(write_task(tmp_path / "tasks" / "bare"), None)
    edited = require_exact(write_task(tmp_path / "tasks" / "edited"), built_program())
    path = edited / "bundle" / "bundle.json"
    path.write_text(path.read_text("utf-8").replace(built_program().program, OTHER), "utf-8")
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        problems = server.report["problems"]
    assert sorted(problems) == ["bare", "edited", "tiny"]
    assert f"pinned to the program {MADE_UP.program[:12]}" in problems["tiny"]
    assert "minga task pin FOLDER" in problems["tiny"]
    assert "no pins. Run `minga task pin FOLDER`" in problems["bare"]
    assert "were edited" in problems["edited"]
