"""Versions are let go, and what is left behind is swept, on a running server."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.error import HTTPError

import numpy as np
import pytest

from backend.wire.messages import Accepted
from tests.support.tasks.tiny_task import SIZE, keep_versions, write_task
from tests.support.web.http_requests import ask
from tests.support.web.rounds_client import Client
from tests.support.web.server_process import Server, running


async def make_versions(server: Server, count: int) -> None:
    async with Client(server.url) as client:
        await client.ready()
        for _ in range(count):
            plan = await client.selected()
            assert isinstance(await client.deliver(plan, np.ones(SIZE)), Accepted)
        await client.selected()


async def test_weights_of_old_versions_are_let_go_and_the_reader_is_told(tmp_path: Path) -> None:
    folder = write_task(tmp_path / "tasks" / "tiny", min_available_clients=1, server_optimizer=MOMENTUM)
    keep_versions(folder, 2)
    blobs = tmp_path / "data" / "blobs"
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        await make_versions(server, 5)
    orphan = blobs / "00" / ("0" * 64)
    orphan.parent.mkdir(exist_ok=True)
    orphan.write_bytes(b"of a killed server")
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        assert not orphan.exists()
        versions = server.get("/api/tasks/tiny/versions")["versions"]
        assert [one["let_go"] is None for one in versions] == [True, False, False, False, True, True]
        for one in versions:
            there = (blobs / one["weights"][:2] / one["weights"]).exists()
            assert there is (one["let_go"] is None)
        with pytest.raises(HTTPError) as refusal:
            server.get(f"/blobs/{versions[2]['weights']}")
        assert refusal.value.code == 410
        error = json.loads(refusal.value.read())["error"]
        assert (error["code"], "Version 2 of 'tiny' was deleted" in error["message"]) == ("gone", True)
        await make_versions(server, 1)


async def test_a_versions_page_compares_it_with_those_whose_weights_are_kept(tmp_path: Path) -> None:
    keep_versions(write_task(tmp_path / "tasks" / "tiny", min_available_clients=1), 2)
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        await make_versions(server, 3)
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        versions = server.get("/api/tasks/tiny/versions")["versions"]
        assert [one["let_go"] is None for one in versions] == [True, False, True, True]
        status, page = ask(server, "/tasks/tiny/versions/2", Accept="text/html")
        assert status == 200
        assert re.findall(r"<option(?: selected)?>(\d+)", page) == ["0", "3"]


MOMENTUM = '{ name = "fedavgm", momentum = 0.5 }'
