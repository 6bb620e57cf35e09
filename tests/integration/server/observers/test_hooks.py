"""A task file's command, run by a real server after real rounds."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import numpy as np

from backend.wire.messages import ServerFrame, State, Train
from tests.support.tasks.tiny_task import SIZE, write_task
from tests.support.web.rounds_client import Client
from tests.support.web.server_process import running

SCRIPT = """
import json, sys
record = json.loads(sys.stdin.read())
with open("rounds.jsonl", "a") as file:
    file.write(json.dumps(record) + "\\n")
if record["made"] and record["made"]["version"] >= 2:
    print("Two are enough.")
    sys.exit(3)
"""


def write_hook(folder: Path) -> Path:
    write_task(folder, rounds=300)
    (folder / "hook.py").write_text(SCRIPT)
    with (folder / "task.toml").open("a") as file:
        file.write(f"\n[hooks]\non_round_end = [{json.dumps(sys.executable)}, 'hook.py']\n")
    return folder


async def take_part(client: Client) -> None:
    """Sends updates until the task is finished; a second for each leaves the command its time."""
    await client.ready()
    while True:
        heard: ServerFrame = await client.next(Train, State)
        if isinstance(heard, Train):
            await asyncio.sleep(1.0)
            await client.deliver(heard, np.ones(SIZE))
        elif isinstance(heard, State) and heard.phase == "finished":
            return


async def test_the_command_hears_of_every_round_and_ends_the_task_after_a_restart_too(tmp_path: Path) -> None:
    folder = write_hook(tmp_path / "tasks" / "tiny")
    with running(tmp_path / "tasks", tmp_path / "data", "--hooks") as server:
        async with Client(server.url) as ann, Client(server.url) as bob:
            await asyncio.gather(take_part(ann), take_part(bob))
        # The command needs a moment, in which another round may open: that one still counts.
        last = server.get("/api/tasks/tiny")["version"]
        assert 2 <= last < 300
    heard = [json.loads(line) for line in (folder / "rounds.jsonl").read_text().splitlines()]
    assert [one["made"]["version"] for one in heard[:2]] == [1, 2]
    assert all((one["task"], one["accepted"], one["cohort"]) == ("tiny", 2, 2) for one in heard)
    assert all(one["made"]["metrics"] == {"accuracy": 0.25} for one in heard)

    # After a restart it is told the last round again, and says the same.
    with running(tmp_path / "tasks", tmp_path / "data", "--hooks") as server:
        async with Client(server.url) as ann, Client(server.url) as bob:
            await asyncio.gather(take_part(ann), take_part(bob))
        assert last <= server.get("/api/tasks/tiny")["version"] < 300


def test_a_server_that_was_not_told_to_trust_hooks_leaves_the_task_out_and_says_how(tmp_path: Path) -> None:
    write_hook(tmp_path / "tasks" / "tiny")
    write_task(tmp_path / "tasks" / "other")
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        assert [task["name"] for task in server.report["tasks"]] == ["other"]
        assert "start with --hooks if you trust it" in server.report["problems"]["tiny"]
