"""`minga task reaggregate`, run as owners run it, with an API token against a real server."""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path

from tests.support.attacks.kept_rounds import is_kept, keeping_task, play_rounds
from tests.support.programs.program_process import Preload, run
from tests.support.web.server_process import running
from tests.support.web.visitors import operator, program


async def test_an_owner_tries_another_rule_from_a_terminal(tmp_path: Path) -> None:
    keeping_task(tmp_path / "tasks" / "tiny", rounds=2)
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        token = program(operator(server), "manage", "inspect").token
        assert token is not None
        environment = {"COLUMNS": "200", "MINGA_TOKEN": token}

        async def reaggregate(*words: str) -> subprocess.CompletedProcess[str]:
            said = ("task", "reaggregate", "tiny", *words, "--server", server.url)
            return await asyncio.to_thread(run, Preload.SERVER, "backend", *said, environment=environment)

        empty = await reaggregate("--rule", "median")
        assert empty.returncode != 0
        assert "No updates are kept yet" in empty.stderr
        await play_rounds(server, "tiny", 3)
        await is_kept(tmp_path / "data", "tiny", 3)
        shown = await reaggregate("--rule", "multi-krum", "--attackers", "1", "--before", "nnm")
        assert shown.returncode == 0, shown.stderr
        assert "Kept: 2 rounds of at most 2" in shown.stdout
        assert "nnm + multi-krum, made for attackers = 1:" in shown.stdout
        assert "Clients computed the updates of later rounds from the real versions" in shown.stdout
        last = json.loads((await reaggregate("--json")).stdout)
        assert [row["made"] for row in last["rounds"]] == [2, 3]
        too_many = await reaggregate("--rule", "krum", "--attackers", "2")
        assert "Round 2 has 5 kept updates, of which krum bears 1 false ones" in too_many.stderr
        unknown = await reaggregate("--rule", "best")
        assert "best" in unknown.stderr
