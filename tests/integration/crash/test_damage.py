"""Files that were damaged: one task is left out until they are mended, the others are served."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from backend.wire.messages import Accepted
from tests.support.tasks.tiny_task import SIZE, write_task
from tests.support.timeouts import PATIENCE
from tests.support.web.rounds_client import Client
from tests.support.web.server_process import Server, running

MOMENTUM = '{ name = "fedavgm", momentum = 0.5 }'


async def one_round(server: Server, task: str) -> None:
    """A version of `task` more."""
    async with Client(server.url, task) as client:
        await client.ready()
        plan = await client.selected()
        assert isinstance(await client.deliver(plan, np.ones(SIZE)), Accepted)
        await client.selected()


async def served(server: Server, task: str) -> dict[str, Any]:
    """The task's summary, once it is served."""
    async with asyncio.timeout(PATIENCE):
        while True:
            tasks = (await asyncio.to_thread(server.get, "/api/tasks"))["tasks"]
            found: list[dict[str, Any]] = [one for one in tasks if one["name"] == task]
            if found:
                return found[0]
            await asyncio.sleep(0.2)


@pytest.mark.parametrize(("part", "harm"), [("weights", "is damaged"), ("state", "is missing")])
async def test_a_damaged_model_is_told_and_its_task_served_again_once_it_is_mended(
    tmp_path: Path, part: str, harm: str
) -> None:
    for name in ("hurt", "well"):
        write_task(tmp_path / "tasks" / name, min_available_clients=1, server_optimizer=MOMENTUM)
    data = tmp_path / "data"
    with running(tmp_path / "tasks", data) as server:
        await one_round(server, "hurt")
    with sqlite3.connect(data / "records.sqlite") as records:
        [address] = records.execute(f"SELECT {part} FROM versions WHERE version = 1").fetchone()  # noqa: S608
    records.close()
    place = data / "blobs" / address[:2] / address
    shutil.copy(place, tmp_path / "backup")
    if harm == "is damaged":
        place.write_bytes(b"rot" + place.read_bytes()[3:])
    else:
        place.unlink()
    with running(tmp_path / "tasks", data) as server:
        problem = server.report["problems"]["hurt"]
        assert harm in problem
        assert address in problem
        assert "from a backup" in problem
        await one_round(server, "well")
        shutil.copy(tmp_path / "backup", place)
        assert (await served(server, "hurt"))["version"] == 1
        assert server.get("/readyz")["left_out"] == {}
        await one_round(server, "hurt")
        assert server.get("/api/tasks/hurt")["version"] == 2


async def test_a_task_that_could_not_be_served_is_served_once_its_files_are_mended(tmp_path: Path) -> None:
    write_task(tmp_path / "tasks" / "well")
    torn = write_task(tmp_path / "tasks" / "torn", min_available_clients=1) / "bundle" / "weights.bin"
    whole = torn.read_bytes()
    torn.write_bytes(b"1234")
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        assert "weights.bin differs" in server.report["problems"]["torn"]
        torn.write_bytes(whole)
        await served(server, "torn")
        await one_round(server, "torn")


def test_damaged_records_are_told_at_the_start(tmp_path: Path) -> None:
    write_task(tmp_path / "tasks" / "tiny")
    with running(tmp_path / "tasks", tmp_path / "data"):
        pass
    records = tmp_path / "data" / "records.sqlite"
    content = bytearray(records.read_bytes())
    content[4096:8192] = b"rot!" * 1024
    records.write_bytes(content)
    server = Server(tmp_path / "tasks", tmp_path / "data", log=tmp_path / "log")
    server.launch()
    assert server.process.wait(PATIENCE) == 2
    server.stop()
    said = (tmp_path / "log").read_text()
    assert f"The records in {records} cannot be opened: the database is damaged" in said
    assert "Restore the data folder" in said
    assert "Traceback" not in said
    assert records.read_bytes() == bytes(content), "what could still be rescued was changed"
