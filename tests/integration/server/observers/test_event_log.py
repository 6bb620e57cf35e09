"""What a server writes on standard error while people train."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from backend.wire.messages import Accepted, Refused
from backend.wire.unit_messages import Board, Counted, Unit
from tests.integration.server.units.test_work_units import ALONE, done
from tests.support.tasks.tiny_task import SHARDS, SIZE, write_task, write_units
from tests.support.web.rounds_client import Client
from tests.support.web.server_process import running
from tests.support.web.unit_client import UnitClient

TOKEN = "nobody-may-read-this-0123456789"  # noqa: S105 - it opens nothing.


async def served(tmp_path: Path, *flags: str) -> list[str]:
    """Lines of a server with one round: an update refused, one accepted, one that comes too late."""
    write_task(tmp_path / "tasks" / "tiny", min_available_clients=1)
    log = tmp_path / "log"
    with running(tmp_path / "tasks", tmp_path / "data", *flags, log=log) as server:
        async with Client(server.url, token=TOKEN) as client:
            await client.ready()
            plan = await client.selected()
            assert isinstance(await client.deliver(plan, np.full(SIZE, np.nan)), Refused)
            plan = await client.selected()
            assert isinstance(await client.deliver(plan, np.ones(SIZE)), Accepted)
            following = await client.selected()
            assert following.round == plan.round + 1
    return log.read_text().splitlines()


async def test_a_log_for_programs_names_task_round_and_client(tmp_path: Path) -> None:
    lines = [
        json.loads(line) for line in await served(tmp_path, "--log-format", "json", "--log-level", "debug")
    ]
    client = next(line["client"] for line in lines if line["event"] == "client joined")

    def told(event: str) -> dict[str, Any]:
        return next(line for line in lines if line["event"] == event)

    assert {line["task"] for line in lines if line["logger"] == "minga.task"} == {"tiny"}
    assert told("round opened").items() >= {"round": 1, "version": 0, "cohort": 1, "level": "info"}.items()
    refused = told("update refused")
    assert refused.items() >= {"round": 1, "client": client, "code": "not-finite", "level": "info"}.items()
    assert told("round abandoned").items() >= {"round": 1, "accepted": 0, "refused": 1}.items()
    assert told("update accepted").items() >= {"round": 2, "client": client, "level": "debug"}.items()
    assert told("version made").items() >= {"round": 2, "version": 1, "accepted": 1, "cohort": 1}.items()
    assert told("client left")["lost"] is True
    assert all("timestamp" in line for line in lines)


async def test_a_task_of_work_units_is_told_of_by_epochs(tmp_path: Path) -> None:
    write_units(tmp_path / "tasks" / "tiny", epochs=1, trust=ALONE)
    log, flags = tmp_path / "log", ("--log-format", "json", "--log-level", "debug")
    with running(tmp_path / "tasks", tmp_path / "data", *flags, log=log) as server:
        async with UnitClient(server.url) as client:
            await client.ready()
            for _ in range(SHARDS):
                assert isinstance(await done(client, await client.next(Unit)), Counted)
            while (await client.next(Board)).phase != "finished":
                pass
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    told = {line["event"]: line for line in lines if line["logger"] == "minga.task"}
    assert told["epoch opened"].items() >= {"epoch": 1, "version": 0, "clients": 0}.items()
    assert told["update accepted"].items() >= {"epoch": 1, "examples": 5}.items()
    made = {"epoch": 1, "version": 1, "accepted": SHARDS, "clients": 1, "refused": 0}
    assert told["version made"].items() >= made.items()
    assert not any("round" in line or "round" in line["event"] for line in lines)


@pytest.mark.parametrize("flags", [("--log-format", "json"), ()])
async def test_a_log_never_holds_a_token(tmp_path: Path, flags: tuple[str, ...]) -> None:
    lines = await served(tmp_path, "--log-level", "debug", *flags)
    assert any("client joined" in line for line in lines)
    assert not any(TOKEN[:12] in line for line in lines)


async def test_a_log_for_people_is_one_line_an_event(tmp_path: Path) -> None:
    lines = await served(tmp_path)
    [made] = [line for line in lines if "version made" in line]
    assert "task=tiny" in made
    assert "version=1" in made
    assert not any("client joined" in line for line in lines)
    assert "\x1b" not in "".join(lines)
