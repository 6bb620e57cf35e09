"""A running task whose members check each other keeps the learning rate that all of them check with."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from tests.support.tasks.tiny_task import write_byzantine
from tests.support.web.server_process import running
from tests.support.web.visitors import operator


async def test_the_learning_rate_that_members_check_with_cannot_be_changed(tmp_path: Path) -> None:
    write_byzantine(tmp_path / "tasks" / "tiny")
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        ann = operator(server)

        def extend(status: int, **asked: float) -> dict[str, Any]:
            answer: dict[str, Any] = ann.ask("POST", "/api/tasks/tiny/extend", asked, status)
            return answer

        refused = await asyncio.to_thread(extend, 409, learning_rate=0.125)
        assert "Continue as a new task with another rate." in str(refused)
        assert (await asyncio.to_thread(extend, 200, rounds=9))["rounds"] == 9
