"""Starter models over HTTP: an owner with data and no model chooses one, and the server does the rest."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.tasks.draft_jobs import TABLE
from tests.support.tasks.tiny_task import write_task
from tests.support.timeouts import LONG
from tests.support.web.draft_client import ABOUT, Drafter
from tests.support.web.server_process import Server, running
from tests.support.web.visitors import operator, owner, program


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("starters")
    write_task(folder / "tasks" / "tiny")
    with running(folder / "tasks", folder / "data") as server:
        yield server


@pytest.fixture(scope="module")
def bob(server: Server) -> Drafter:
    return Drafter(program(owner(operator(server), "bob"), "create", "manage"))


def items(shown: Any) -> dict[str, str]:
    return {item["key"]: item["state"] for item in shown["checklist"]}


def settled(bob: Drafter, draft: str) -> Any:
    """The draft once no job waits or runs and none is due."""
    until, shown = time.monotonic() + LONG, bob.send("GET", draft).json
    while time.monotonic() < until:
        jobs = shown["jobs"].values()
        if not any(job["state"] in ("waiting", "running") for job in jobs) and "rehearse" in shown["jobs"]:
            return shown
        assert not any(job["state"] == "failed" for job in jobs), shown["jobs"]
        time.sleep(0.2)
        shown = bob.send("GET", draft).json
    raise AssertionError(shown["jobs"])


def test_a_starter_is_chosen_before_the_data_and_only_where_it_fits(bob: Drafter) -> None:
    draft = bob.begin("early")
    shown = bob.send("GET", draft).json
    assert (shown["starter"], len(shown["starters"])) == (None, 6)
    assert bob.send("POST", f"{draft}/starter", {"starter": "none"}).status == 404
    shown = bob.send("POST", f"{draft}/starter", {"starter": "table-mlp"}).json
    assert [one["name"] for one in shown["starters"] if one["chosen"]] == ["table-mlp"]
    assert items(shown)["starter"] == "todo"
    assert shown["standing"] == "Next: Bring the data, so that the starter model is built for them."
    refused = bob.send("POST", f"{draft}/jobs", {"kind": "build"})
    assert (refused.status, "bring data" in refused.text) == (409, True)
    bob.upload(draft, "data", "d.csv", TABLE.encode())
    assert bob.work(draft, "look")["state"] == "done"
    shown = bob.send("GET", draft).json
    assert [one["name"] for one in shown["starters"]] == ["table-mlp"]
    refused = bob.send("POST", f"{draft}/starter", {"starter": "small-gpt"})
    assert (refused.status, refused.json["error"]["code"]) == (409, "not-wanted")


@pytest.mark.tensorflow
@pytest.mark.timeout(LONG)
def test_data_and_a_choice_are_all_that_a_launch_needs(bob: Drafter, tmp_path: Path) -> None:
    answer = bob.send("POST", "/api/drafts", {"name": "table", "onward": True}).json
    draft = f"/api/drafts/{answer['id']}"
    task = answer["task"] | ABOUT
    task["model"] |= {"batch_size": 8}
    assert bob.send("PATCH", draft, {"task": task}).status == 200
    assert bob.send("POST", f"{draft}/starter", {"starter": "table-mlp"}).status == 200
    bob.upload(draft, "data", "d.csv", TABLE.encode())
    shown = settled(bob, draft)
    assert {key: state for key, state in items(shown).items() if state != "done"} == {"browser": "todo"}
    (chosen,) = shown["starters"]
    assert chosen["parameters"] == 64 * 3 + 32 * 65 + 33 == shown["devices"]["parameters"]["trainable"]
    assert shown["files"]["model"]["name"] == "table-mlp.keras"
    assert shown["task"]["model"]["loss"] == "binary_crossentropy"
    bob.without_browser(draft)
    assert bob.send("POST", f"{draft}/launch", {"test": True}).json["task"] == "table"
