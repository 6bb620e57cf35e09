"""A stranger fetches the weights of a task by invitation while the server does not host that task."""

from __future__ import annotations

import shutil
from pathlib import Path

import httpx
import pytest

from tests.support.tasks.tiny_task import write_task
from tests.support.timeouts import PATIENCE
from tests.support.web.server_process import running


@pytest.mark.parametrize("state", ["broken", "taken out"])
def test_blobs_of_a_task_that_is_not_hosted_are_for_nobody(tmp_path: Path, state: str) -> None:
    tasks, data = tmp_path / "tasks", tmp_path / "data"
    write_task(tasks / "open", more=0)
    closed = write_task(tasks / "closed", more=1)
    with running(tasks, data) as server:
        addresses = [server.get("/api/tasks/closed")[blob] for blob in ("weights", "bundle")]
    if state == "broken":
        file = closed / "task.toml"
        file.write_text(
            file.read_text("utf-8") + '\n[access]\nvisibility = "invited"\nnonsense = 1\n', "utf-8"
        )
    else:
        shutil.rmtree(closed)
    with running(tasks, data) as server:
        answers = [httpx.get(f"{server.url}/blobs/{address}", timeout=PATIENCE) for address in addresses]
        public = server.get("/api/tasks/open")["weights"]
        assert httpx.get(f"{server.url}/blobs/{public}", timeout=PATIENCE).status_code == 200
    assert [answer.status_code for answer in answers] == [404, 404]
    assert "closed" not in answers[0].text
