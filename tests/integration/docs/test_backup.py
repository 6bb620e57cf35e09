"""The commands of docs/how-to/back-up-and-restore.md, on a server that works."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

import pytest

from tests.integration.crash.data_folder import sound
from tests.integration.crash.update_clients import Crowd
from tests.integration.docs.test_docs import ROOT, blocks
from tests.support.tasks.tiny_task import keep_versions, write_task
from tests.support.timeouts import PATIENCE
from tests.support.web.server_process import running

HOW_TO = ROOT / "docs/how-to/back-up-and-restore.md"


@pytest.mark.requires("sqlite3")
async def test_a_backup_of_a_running_server_is_whole(tmp_path: Path) -> None:
    keep_versions(write_task(tmp_path / "tasks" / "tiny", min_available_clients=1, rounds=100_000), 1000)
    backup = tmp_path / "backup"
    backup.mkdir()
    [script] = blocks(HOW_TO, "sh")
    script = script.replace("~/.local/share/minga", str(tmp_path / "data")).replace("/backup", str(backup))
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        bundle = server.report["tasks"][0]["bundle"]
        crowd = Crowd(2, "backup")
        working = asyncio.create_task(crowd.work(server.url))
        await asyncio.wait_for(crowd.news.wait(), PATIENCE)
        for _ in range(2):
            await asyncio.to_thread(subprocess.run, ["sh", "-ec", script], check=True)
        working.cancel()
    versions = await sound(backup, "tiny", bundle)
    assert len(versions) > 1
    with running(tmp_path / "tasks", backup) as restored:
        assert restored.get("/api/tasks/tiny")["version"] == versions[-1].version
