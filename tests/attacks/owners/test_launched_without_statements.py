"""An owner gets a task to everybody without the statements, or changes them after people took part."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from backend.protocols.tasks.task_life import Life, LifeState
from backend.stores.embedded import open_stores
from tests.support.tasks.tiny_task import write_task
from tests.support.web.draft_client import ABOUT
from tests.support.web.server_process import Server, running
from tests.support.web.visitors import Visitor, operator

DESCRIPTION = "/api/tasks/tiny/description"
ORDERS = "/api/tasks/tiny/orders"
TOLD: dict[str, Any] = {"title": "Tiny", **ABOUT}
SHORT: dict[str, Any] = {
    "title": "Tiny",
    "licence": ABOUT["licence"],
    "ethics": {"contact": ABOUT["ethics"]["contact"]},
}


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Server]:
    """A server whose only task is in a private test."""
    write_task(tmp_path / "tasks" / "tiny")
    stores = open_stores(tmp_path / "data")
    await stores.lives.set_life("tiny", Life(LifeState.TEST, running=LifeState.TEST))
    await stores.close()
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        yield server


def describe(who: Visitor, status: int | None = None, **asked: Any) -> Any:
    return who.ask("PATCH", DESCRIPTION, asked, status)


def test_a_test_without_statements_is_not_launched_for_everybody(server: Server) -> None:
    ann = operator(server)
    describe(ann, task=SHORT)
    refused = ann.ask("POST", ORDERS, {"order": "launch"}, 409)["error"]
    assert refused["code"] == "not-ready"
    for remedy in ("what the task is for", "why the data may be used", "who benefits"):
        assert remedy in refused["message"]
    assert server.get("/api/tasks")["tasks"] == []
    told = ann.ask("GET", DESCRIPTION)
    lacking = {item["key"] for item in told["checklist"] if item["state"] == "todo"}
    assert lacking == {"summary", "consent", "ethics"}


def test_statements_stay_as_they_were_when_people_decided_by_them(server: Server) -> None:
    ann = operator(server)
    shown = describe(ann, task=TOLD, readme="About **tiny** things.")
    assert {item["state"] for item in shown["checklist"]} == {"done"}
    ann.ask("POST", ORDERS, {"order": "launch"})
    before = ann.ask("GET", DESCRIPTION)
    for asked in ({"task": TOLD | {"consent": {"basis": "other", "note": "-"}}}, {"readme": "Sold."}):
        assert describe(ann, 409, **asked)["error"]["code"] == "wrong-state"
    # Neither does a pause open it again.
    ann.ask("POST", ORDERS, {"order": "pause"})
    assert describe(ann, 409, task=SHORT)["error"]["code"] == "wrong-state"
    assert ann.ask("GET", DESCRIPTION) == before
    assert "<strong>tiny</strong>" in server.get("/api/tasks/tiny/about")["html"]


async def test_statements_cannot_be_taken_out_while_the_task_is_launched(server: Server) -> None:
    ann = operator(server)
    describe(ann, task=TOLD)

    async def ask(method: str, path: str, body: dict[str, Any]) -> None:
        # Which of them comes first, and so which is refused, is chance.
        with suppress(AssertionError):
            await asyncio.to_thread(ann.ask, method, path, body)

    removals = [ask("PATCH", DESCRIPTION, {"task": SHORT}) for _ in range(8)]
    await asyncio.gather(*removals[:2], ask("POST", ORDERS, {"order": "launch"}), *removals[2:])
    launched = (await asyncio.to_thread(ann.ask, "GET", "/api/tasks/tiny"))["state"] == "live"
    told = await asyncio.to_thread(ann.ask, "GET", DESCRIPTION)
    assert not launched or {item["state"] for item in told["checklist"]} == {"done"}


async def test_a_description_outlives_the_server(tmp_path: Path) -> None:
    write_task(tmp_path / "tasks" / "tiny")
    stores = open_stores(tmp_path / "data")
    await stores.lives.set_life("tiny", Life(LifeState.TEST, running=LifeState.TEST))
    await stores.close()
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        ann = operator(server)
        told = describe(ann, task=TOLD, readme="About tiny things.")
        server.stop()
        server.start()
        again = Visitor(server.url)
        again.cookies = ann.cookies
        assert again.ask("GET", DESCRIPTION) == told
