"""Owners take everything of a task away, and delete it; what is cut short by kill -9 is finished."""

from __future__ import annotations

import io
import shutil
import signal
import sqlite3
import zipfile
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from urllib.request import Request, urlopen

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load

from backend.stores.tables import metadata
from backend.wire.messages import Closing, Version
from tests.integration.web.api.test_task_management import round_of, until, watching
from tests.support.tasks.tiny_task import SIZE, write_mesh, write_task
from tests.support.timeouts import PATIENCE
from tests.support.web.mesh_client import MeshPeer
from tests.support.web.rounds_client import Client
from tests.support.web.server_process import Server, running
from tests.support.web.visitors import Visitor, operator, owner, program


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder in which two tasks were launched, beside a task of the operator."""
    for name in ("mine", "other"):
        write_task(tmp_path / "data" / "tasks" / name)
    write_task(tmp_path / "tasks" / "theirs")
    return tmp_path / "data"


@pytest.fixture
def server(data: Path) -> Iterator[Server]:
    with running(data.parent / "tasks", data) as server:
        yield server


def blobs(data: Path) -> set[str]:
    return {path.name for path in (data / "blobs").glob("??/*")}


def rows_of(data: Path, task: str) -> dict[str, int]:
    """How many rows of each table are of a task."""
    found: dict[str, int] = {}
    with sqlite3.connect(data / "records.sqlite") as records:
        runs = [run for (run,) in records.execute("SELECT run FROM tasks WHERE task = ?", (task,))]
        for table in metadata.sorted_tables:
            names = {column.name for column in table.columns}
            for column, values in (("task", [task]), ("run", runs)):
                if column in names and values:
                    marks = ",".join("?" * len(values))
                    query = f"SELECT count(*) FROM {table.name} WHERE {column} IN ({marks})"  # noqa: S608 - our own names.
                    found[table.name] = (
                        found.get(table.name, 0) + records.execute(query, values).fetchone()[0]
                    )
    records.close()
    return {table: count for table, count in found.items() if count}


async def test_a_task_is_taken_away_whole_and_deleted_for_good(server: Server, data: Path) -> None:
    ann = operator(server)
    bob = owner(ann, "bob")
    ann.ask("PUT", "/api/tasks/mine/members", {"account": "bob", "role": "collaborator"})
    ann.ask("PUT", "/api/tasks/mine/members", {"account": "ann", "role": "owner"})
    async with Client(server.url, "mine") as one, Client(server.url, "mine") as two:
        await round_of(one, two)
        await one.next(Version)
        names, weights = exported(bob, "mine")
        assert {
            "task.toml",
            "README.md",
            "MODEL_CARD.md",
            "figures/versions.csv",
            "bundle/bundle.json",
        } <= names
        assert sum(value.size for value in weights.values()) == SIZE

        kept = await blobs_after_a_round(server, data, "other")
        bob.ask("DELETE", "/api/tasks/mine", None, 403)
        program(ann, "manage").ask("DELETE", "/api/tasks/mine", None, 403)
        assert "remove it there" in ann.ask("DELETE", "/api/tasks/theirs", None, 409)["error"]["message"]
        async with watching(ann, "mine") as socket:
            ann.ask("DELETE", "/api/tasks/mine", None, 204)
            closing = await one.next(Closing)
            assert (closing.code, "deleted" in closing.reason) == ("closed", True)
            assert "revoked" in (await until(socket, "ended", lambda _: True))["reason"]
    for path in ("/api/tasks/mine", "/api/tasks/mine/versions"):
        assert ann.ask("GET", path, None, 404)
    assert rows_of(data, "mine") == {}
    assert rows_of(data, "other")["versions"] == 2
    assert not (data / "tasks" / "mine").exists()
    assert list((data / "deleted").iterdir()) == []
    # What both had is the other's; nothing else stayed.
    assert blobs(data) == kept


async def test_peers_of_a_mesh_are_told_that_it_is_deleted(tmp_path: Path) -> None:
    write_task(tmp_path / "tasks" / "theirs")
    write_mesh(tmp_path / "data" / "tasks" / "mesh")
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        async with MeshPeer(server.url, "mesh") as peer:
            operator(server).ask("DELETE", "/api/tasks/mesh", None, 204)
            assert "deleted" in (await peer.next(Closing)).reason
        assert [one["name"] for one in server.get("/api/tasks")["tasks"]] == ["theirs"]


def exported(who: Visitor, task: str) -> tuple[set[str], dict[str, NDArray[np.float32]]]:
    """The names in the zip of a task, and its newest weights."""
    cookies = "; ".join(f"{name}={value}" for name, value in who.cookies.items())
    request = Request(f"http://{who.host}/api/tasks/{task}/export", headers={"Cookie": cookies})
    with urlopen(request, timeout=PATIENCE) as answer:
        archive = zipfile.ZipFile(io.BytesIO(answer.read()))
    assert archive.testzip() is None
    return set(archive.namelist()), load(archive.read(f"{task}-1.safetensors"))


async def blobs_after_a_round(server: Server, data: Path, task: str) -> set[str]:
    """Every blob, but for the newest version of the task that will be deleted."""
    async with Client(server.url, task) as one, Client(server.url, task) as two:
        await round_of(one, two, last=3.0)
        await one.next(Version)
    versions = server.get("/api/tasks/mine/versions")["versions"]
    return blobs(data) - {versions[1]["weights"]}


def test_a_deletion_that_was_killed_is_finished_at_the_next_start(server: Server, data: Path) -> None:
    server.stop(signal.SIGKILL)
    (data / "deleted").mkdir()
    shutil.move(data / "tasks" / "mine", data / "deleted" / "mine")
    assert "tasks" in rows_of(data, "mine")
    server.start()
    assert {one["name"] for one in server.get("/api/tasks")["tasks"]} == {"theirs", "other"}
    assert rows_of(data, "mine") == {}
    assert list((data / "deleted").iterdir()) == []


def test_launched_tasks_count_for_the_room_of_their_owner(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (data / "tasks" / "mine" / "large.bin").write_bytes(bytes(1 << 20))
    monkeypatch.setenv("MINGA_MAX_OWNER_MIB", "1")
    with running(data.parent / "tasks", data) as server:
        ann = operator(server)
        draft = ann.ask("POST", "/api/drafts", {"name": "next"})["id"]
        path = f"/api/drafts/{draft}/files/model"
        tus = {"Tus_Resumable": "1.0.0", "Upload_Metadata": f"filename {b64encode(b'model.keras').decode()}"}
        ann.ask("POST", path, status=201, Upload_Length="1000", **tus)
        ann.ask("PUT", "/api/tasks/mine/members", {"account": "ann", "role": "owner"})
        refused = ann.ask("POST", path, status=413, Upload_Length="2000", **tus)["error"]["message"]
        assert "Your drafts and tasks would take over 1 MiB" in refused
        ann.ask("DELETE", "/api/tasks/mine")
        ann.ask("POST", path, status=201, Upload_Length="2000", **tus)
