"""Somebody who gets hold of the server's disk looks for updates that the pages said were deleted.

Promise: an update is kept until so many later rounds ended with a version, or the task is deleted.
"""

from __future__ import annotations

import shutil
import signal
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.support.attacks.kept_rounds import CLIENTS, is_kept, keeping_task, play_rounds
from tests.support.tasks.tiny_task import write_task
from tests.support.web.server_process import Server, running
from tests.support.web.visitors import operator, owner

TASK = "mine"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    keeping_task(tmp_path / "data" / "tasks" / TASK, rounds=2)
    write_task(tmp_path / "operators" / "tiny")
    return tmp_path / "data"


def found(data: Path, updates: list[NDArray[np.float32]]) -> list[int]:
    """Which of the updates are in any file of the data folder, also in one that has no name any more."""
    content = b"".join(path.read_bytes() for path in data.rglob("*") if path.is_file())
    return [number for number, update in enumerate(updates) if update.tobytes() in content]


async def rounds(server: Server, data: Path, count: int) -> list[NDArray[np.float32]]:
    updates = await play_rounds(server, TASK, count)
    await is_kept(data, TASK, count)
    return updates


async def test_an_update_is_gone_after_as_many_later_rounds_as_the_page_says(data: Path) -> None:
    with running(data.parent / "operators", data) as server:
        told = server.get(f"/api/tasks/{TASK}/disclosure")["server"]
        (sentence,) = [one for one in told if "It keeps your update" in one]
        assert "until 2 later rounds have ended" in sentence
        updates = await rounds(server, data, 4)
        assert found(data, updates) == list(range(2 * CLIENTS, 4 * CLIENTS))


async def test_nothing_is_left_of_a_deleted_task(data: Path) -> None:
    with running(data.parent / "operators", data) as server:
        ann = operator(server)
        bob = owner(ann, "bob")
        ann.ask("PUT", f"/api/tasks/{TASK}/members", {"account": "bob", "role": "owner"})
        updates = await rounds(server, data, 2)
        assert found(data, updates)
        bob.ask("DELETE", f"/api/tasks/{TASK}")
        assert found(data, updates) == []
        assert not (data / "kept_updates" / TASK).exists()


@pytest.mark.parametrize("way", ["the table is taken out", "the folder is removed", "the model is another"])
async def test_nothing_is_left_after_a_restart_without_the_task_or_its_table(data: Path, way: str) -> None:
    folder = data / "tasks" / TASK
    with running(data.parent / "operators", data) as server:
        updates = await rounds(server, data, 2)
        server.stop(signal.SIGKILL)
        assert found(data, updates) == list(range(2 * CLIENTS))
        if way == "the folder is removed":
            shutil.rmtree(folder)
        elif way == "the table is taken out":
            file = folder / "task.toml"
            file.write_text(file.read_text("utf-8").partition("[security.kept_updates]")[0], "utf-8")
        else:
            shutil.rmtree(folder)
            keeping_task(folder, rounds=2, zeros=True)
        server.start()
        assert found(data, updates) == []


async def test_an_update_of_a_round_that_a_killed_server_had_open_is_gone(data: Path) -> None:
    with running(data.parent / "operators", data) as server:
        updates = await rounds(server, data, 1)
        server.stop(signal.SIGKILL)
        left = data / "kept_updates" / TASK / "open"
        left.write_bytes(updates[0].tobytes() * 3)
        server.start()
        assert not left.exists()
        assert found(data, updates) == list(range(CLIENTS))
