"""The name of a task is checked when its draft begins and whenever it is edited."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.tasks.tiny_task import write_task
from tests.support.web.draft_client import Drafter
from tests.support.web.server_process import running
from tests.support.web.visitors import operator, owner, program


def left(bob: Drafter, draft: str) -> list[str]:
    return [item["text"] for item in bob.send("GET", draft).json["checklist"] if item["key"] == "name"]


def test_a_name_that_is_taken_is_told_at_once_and_can_be_changed(bob: Drafter) -> None:
    refused = bob.send("POST", "/api/drafts", {"name": "tiny"})
    assert (refused.status, "tiny-2 say" in refused.text) == (409, True)
    checked = bob.send("GET", "/api/drafts?name=tiny").json["name"]
    assert checked["suggestion"] == "tiny-2"
    draft = bob.begin("renamed")
    task = bob.send("GET", draft).json["task"]
    told = bob.send("PATCH", draft, {"task": task | {"name": "tiny"}}).json
    assert told["name"]["suggestion"] == "tiny-2"
    assert left(bob, draft) == [told["name"]["problem"]]
    told = bob.send("PATCH", draft, {"task": task | {"name": "tiny-2"}}).json
    assert told["name"] == {"problem": None, "suggestion": None}
    assert left(bob, draft) == []


def test_the_second_draft_of_a_name_is_told_until_it_has_another(bob: Drafter) -> None:
    first, second = bob.begin("twins"), bob.begin("twins")
    assert (left(bob, first), len(left(bob, second))) == ([], 1)
    task = bob.send("GET", second).json["task"]
    bob.send("PATCH", second, {"task": task | {"name": "twins-2"}})
    assert (left(bob, first), left(bob, second)) == ([], [])


@pytest.mark.parametrize("built", [True, False])
def test_only_a_task_that_was_built_keeps_its_name_while_it_is_not_served(
    tmp_path: Path, built: bool
) -> None:
    write_task(tmp_path / "tasks" / "tiny")
    broken = write_task(tmp_path / "tasks" / "broken")
    manifest = broken / "bundle" / "bundle.json"
    text = (broken / "task.toml").read_text()
    (broken / "task.toml").write_text(text.replace("tiny", "broken", 1))
    manifest.write_text("{}") if built else manifest.unlink()
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        bob = Drafter(program(owner(operator(server), "bob"), "create"))
        assert bob.send("POST", "/api/drafts", {"name": "broken"}).status == (409 if built else 201)
