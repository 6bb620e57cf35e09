"""A volunteer, another owner and the task's own owner ask every address for the updates that a task keeps.

Promise: kept updates are never served to anybody. Only results of rules for all of a round's are shown.
"""

from __future__ import annotations

import base64
import hashlib
import io
import zipfile
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest
from numpy.typing import NDArray

from backend.wire.messages import Version
from tests.support.attacks.kept_rounds import CLIENTS, drawn, is_kept, keeping_task, play_rounds, tried
from tests.support.tasks.tiny_task import SIZE, write_task
from tests.support.timeouts import PATIENCE
from tests.support.web.rounds_client import Client
from tests.support.web.server_process import Server, running
from tests.support.web.visitors import Visitor, operator, owner

ROUNDS = 2
PATH = "/api/tasks/mine/reaggregation"


def shapes_of(update: NDArray[np.float32]) -> list[bytes]:
    """The update as bytes, in base64, and its first value as text: each is found wherever it stands."""
    raw = update.astype("<f4").tobytes()
    return [raw, base64.b64encode(raw)[:-4], str(float(update[0]))[:10].encode()]


def unpacked(content: bytes) -> bytes:
    """The content, with what is packed in it if it is a zip."""
    if content[:2] != b"PK":
        return content
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return content + b"".join(archive.read(name) for name in archive.namelist())


def content_of(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def fetched(visitor: Visitor, path: str) -> bytes:
    headers = {"Accept": "*/*"}
    if visitor.cookies:
        headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in visitor.cookies.items())
    connection = HTTPConnection(visitor.host, timeout=PATIENCE)
    try:
        connection.request("GET", path, headers=headers)
        return unpacked(connection.getresponse().read())
    finally:
        connection.close()


def addresses(server: Server, data: Path) -> Iterator[str]:
    """Every GET of the API with the task's names, blobs by their hashes, and ways out of public folders."""
    files = sorted((data / "kept_updates" / "mine").iterdir())
    names = {"name": "mine", "version": "1", "format": "npz", "file": "figures.json", "round": "1"}
    for template, methods in server.get("/api/openapi.json")["paths"].items():
        if "get" in methods:
            path = template
            for key, value in names.items():
                path = path.replace(f"{{{key}}}", value)
            if "{" not in path:
                yield path
    for file in files:
        content = file.read_bytes()
        rows = [content[start : start + 40] for start in range(0, CLIENTS * 40, 40)]
        for blob in (content, *rows):
            yield f"/blobs/{hashlib.sha256(blob).hexdigest()}"
        for root in ("/static/dist", "/docs", "/blobs", "/api/tasks/mine", "/api/tasks/mine/versions"):
            for step in ("..", "%2e%2e", "..%2f.."):
                yield f"{root}/{step}/{step}/kept_updates/mine/{file.name}"
            yield f"{root}/{quote(str(file))}"
        yield f"/kept_updates/mine/{file.name}"
        yield f"/api/tasks/mine/kept_updates/{file.name}"
    yield "/tasks/mine/manage"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    keeping_task(tmp_path / "data" / "tasks" / "mine", rounds=5)
    keeping_task(tmp_path / "data" / "tasks" / "other", rounds=5)
    write_task(tmp_path / "operators" / "tiny")
    return tmp_path / "data"


async def test_no_address_answers_with_a_kept_update(data: Path) -> None:
    with running(data.parent / "operators", data) as server:
        ann = operator(server)
        bob, cleo = owner(ann, "bob"), owner(ann, "cleo")
        ann.ask("PUT", "/api/tasks/mine/members", {"account": "bob", "role": "owner"})
        ann.ask("PUT", "/api/tasks/other/members", {"account": "cleo", "role": "owner"})
        updates = await play_rounds(server, "mine", ROUNDS)
        await is_kept(data, "mine", ROUNDS)
        files = b"".join(path.read_bytes() for path in (data / "kept_updates" / "mine").iterdir())
        assert all(shapes_of(update)[0] in files for update in updates)
        secrets = [shape for update in updates for shape in shapes_of(update)]
        nobody = Visitor(server.url)
        visited = list(addresses(server, data))
        assert "/api/tasks/mine/export" in visited
        for visitor in (nobody, cleo, bob, ann):
            for path in visited:
                answer = fetched(visitor, path)
                assert not any(secret in answer for secret in secrets), path


async def test_nobody_without_a_role_tries_rules_on_kept_updates(data: Path) -> None:
    with running(data.parent / "operators", data) as server:
        ann = operator(server)
        bob, cleo = owner(ann, "bob"), owner(ann, "cleo")
        ann.ask("PUT", "/api/tasks/mine/members", {"account": "bob", "role": "viewer"})
        await play_rounds(server, "mine", 1)
        await is_kept(data, "mine", 1)
        nobody = Visitor(server.url)
        for visitor, status in ((nobody, 401), (cleo, 403)):
            visitor.ask("GET", PATH, None, status)
            visitor.ask("POST", PATH, {"rule": "krum"}, status)
            visitor.ask("DELETE", PATH, None, status)
        # A viewer sees results, and has none computed.
        assert bob.ask("GET", PATH)["state"] == "none"
        bob.ask("POST", PATH, {"rule": "krum"}, 403)
        bob.ask("DELETE", PATH, None, 403)


async def test_the_version_of_a_rule_that_takes_one_update_is_nowhere(data: Path) -> None:
    with running(data.parent / "operators", data) as server:
        ann = operator(server)
        await play_rounds(server, "mine", 1)
        await is_kept(data, "mine", 1)
        report = await tried(ann, "mine", {"rule": "krum"})
        assert len(report["rounds"][0]["tried"]["left_out"]) == CLIENTS - 1
        began = np.arange(SIZE, dtype="<f4")
        made = [(began + drawn(client, 1) * (1 if client else -1)).tobytes() for client in range(CLIENTS)]
        on_disk = content_of(data)
        assert not any(version in on_disk for version in made)
        for version in made:
            ann.ask("GET", f"/blobs/{hashlib.sha256(version).hexdigest()}", None, 404)


async def test_no_frame_to_a_volunteer_has_anothers_update(data: Path) -> None:
    with running(data.parent / "operators", data) as server:
        async with Client(server.url, "mine") as listening:
            await play_rounds(server, "mine", 1, extra=[listening])
            await listening.next(Version)
            heard = repr(listening.heard).encode()
        for client in range(CLIENTS):
            for shape in shapes_of(drawn(client, 1)):
                assert shape not in heard
                assert repr(shape).encode()[2:-1] not in heard
