"""What is taken away from a task, over HTTP."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import pytest
from safetensors.numpy import load

from backend.wire.messages import Accepted
from tests.support.tasks.tiny_task import SIZE, write_mesh, write_task
from tests.support.timeouts import PATIENCE
from tests.support.web.rounds_client import Client
from tests.support.web.server_process import running
from tests.support.web.visitors import Visitor, operator, owner


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    folder = tmp_path_factory.mktemp("results")
    file = write_task(folder / "tasks" / "tiny") / "task.toml"
    text = file.read_text("utf-8").replace('title = "Tiny"', 'title = "Tiny <b>"')
    people = '[ethics]\npeople = "anonymous"\nsensitive = true\ncare = "No <i>names</i>."\n'
    file.write_text(f'{text}\n[licence]\ndata = "CC BY 4.0"\n{people}', "utf-8")
    with (
        running(folder / "tasks", folder / "data") as server,
        httpx.Client(base_url=server.url, timeout=PATIENCE) as client,
    ):
        yield client


def test_figures_come_as_files_with_names(http: httpx.Client) -> None:
    versions = http.get("/api/tasks/tiny/figures/versions.csv")
    assert versions.headers["content-type"] == "text/csv; charset=utf-8"
    assert versions.headers["content-disposition"] == 'attachment; filename="tiny-versions.csv"'
    assert versions.text.splitlines()[1].startswith("0,0,")
    assert http.get("/api/tasks/tiny/figures/rounds.csv").status_code == 200
    assert http.get("/api/tasks/tiny/figures/figures.json").json()["task"] == "tiny"
    events = http.get("/api/tasks/tiny/figures/tensorboard")
    assert ".tfevents." in events.headers["content-disposition"]
    assert b"brain.Event:2" in events.content


def test_a_file_of_figures_that_there_is_not_names_those_that_there_are(http: httpx.Client) -> None:
    answer = http.get("/api/tasks/tiny/figures/all.xlsx")
    assert answer.status_code == 404
    assert "versions.csv, rounds.csv" in answer.json()["error"]["message"]


def test_a_version_lists_its_formats_and_the_hashes_of_those_that_were_made(http: httpx.Client) -> None:
    made = http.get("/api/tasks/tiny/versions/0/npz")
    told = http.get("/api/tasks/tiny/versions/0").json()
    files = {one["format"]: one["sha256"] for one in told["files"]}
    assert files["npz"] == hashlib.sha256(made.content).hexdigest()
    assert files["keras"] is None
    assert (told["version"], told["round"], told["evaluation"]) == (0, 0, None)


def test_a_version_comes_whole_by_range_or_not_at_all(http: httpx.Client) -> None:
    whole = http.get("/api/tasks/tiny/versions/0/safetensors")
    digest = hashlib.sha256(whole.content).digest()
    assert whole.headers["etag"] == f'"{digest.hex()}"'
    assert whole.headers["repr-digest"] == f"sha-256=:{base64.b64encode(digest).decode()}:"
    assert whole.headers["content-disposition"] == 'attachment; filename="tiny-0.safetensors"'
    np.testing.assert_array_equal(load(whole.content)["dense/kernel"], np.arange(6).reshape(2, 3))
    part = http.get("/api/tasks/tiny/versions/0/safetensors", headers={"Range": "bytes=0-7"})
    assert (part.status_code, part.content) == (206, whole.content[:8])
    again = http.get(
        "/api/tasks/tiny/versions/0/safetensors", headers={"If-None-Match": whole.headers["etag"]}
    )
    assert (again.status_code, again.content) == (304, b"")


def test_what_cannot_be_had_is_said_in_a_sentence(http: httpx.Client) -> None:
    for path, status, words in (
        ("versions/0/keras", 400, "Take npz or safetensors instead"),
        ("versions/0/h5", 404, "keras, saved-model"),
        ("versions/7/npz", 404, "There is no version 7; the newest is 0."),
        ("versions/7/card", 404, "There is no version 7"),
        ("compare?before=0", 400, "compare?before=3&after=7"),
    ):
        answer = http.get(f"/api/tasks/tiny/{path}")
        assert answer.status_code == status
        assert words in answer.json()["error"]["message"]


def test_a_model_card_says_what_the_version_is_and_escapes_what_its_owner_wrote(http: httpx.Client) -> None:
    card = http.get("/api/tasks/tiny/versions/0/card")
    assert card.headers["content-type"].startswith("text/markdown")
    assert card.text.startswith("# Tiny \\<b\\>, version 0\n")
    for words in (
        "before the first round",
        "10, 8 of them trained",
        "30 public examples in 6 shards",
        "CC BY 4.0",
        "Input `x`: float32, [rows, 2]",
        "nobody measured this version",
        "They reveal health, origin, beliefs, politics, sexuality or facts about children. "
        "No \\<i\\>names\\</i\\>.",
        "| Whom to ask | not stated by its owner |",
    ):
        assert words in card.text


def test_the_page_of_a_task_says_what_its_owner_says_of_people(http: httpx.Client) -> None:
    page = http.get("/tasks/tiny", headers={"Accept": "text/html"}).text
    assert "Data and people" in page
    assert "but nobody can recognise them" in page
    assert "No &lt;i&gt;names&lt;/i&gt;." in page
    assert "Whom to ask" not in page


def test_two_versions_are_compared(http: httpx.Client) -> None:
    found = http.get("/api/tasks/tiny/compare?before=0&after=0").json()
    assert (found["distance"], found["relative"]) == (0.0, 0.0)
    assert [one["name"] for one in found["variables"]] == ["dense/kernel", "dense/bias", "norm/mean"]


def test_a_page_leads_to_every_file_of_a_version(http: httpx.Client) -> None:
    page = http.get("/tasks/tiny/versions/0", headers={"Accept": "text/html"})
    assert page.status_code == 200
    for name in ("keras", "onnx", "npz", "tfjs-layers"):
        assert f'href="/tasks/tiny/versions/0/{name}"' in page.text
    assert 'href="/tasks/tiny/versions/0"' in http.get("/tasks/tiny", headers={"Accept": "text/html"}).text
    file = http.get("/tasks/tiny/versions/0/npz", headers={"Accept": "text/html"})
    assert file.headers["content-type"] == "application/octet-stream"


async def test_an_owner_goes_back_and_clients_train_on_from_there(tmp_path: Path) -> None:
    write_task(tmp_path / "tasks" / "tiny", min_available_clients=1)
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        ann = operator(server)
        async with Client(server.url) as client:
            await client.ready()
            for _ in range(2):
                plan = await client.selected()
                assert isinstance(await client.deliver(plan, np.ones(SIZE)), Accepted)
            await client.selected()
            told = await asyncio.to_thread(ann.ask, "POST", "/api/tasks/tiny/restore", {"version": 1})
            assert (told["version"], told["accepted"], told["examples"]) == (3, 0, 0)
            plan = await client.selected()
            assert plan.weights == told["weights"]
            assert isinstance(await client.deliver(plan, np.ones(SIZE)), Accepted)
            await client.selected()
        versions = server.get("/api/tasks/tiny/versions")["versions"]
        rounds = server.get("/api/tasks/tiny/rounds")["rounds"]
        assert [one["version"] for one in versions] == [0, 1, 2, 3, 4]
        assert versions[3]["weights"] == versions[1]["weights"]
        # From version 1 on again, not from version 2.
        assert versions[4]["weights"] == versions[2]["weights"]
        back = "The owner went back to version 1."
        assert [(one["round"], one["outcome"], one["reason"]) for one in rounds[2:4]] == [
            (3, "abandoned", back),
            (4, "version", back),
        ]
        card = ann.ask("GET", "/api/tasks/tiny/versions/3/card")
        assert "version 1: the owner went back to it" in card


def test_only_who_may_manage_a_task_goes_back_and_only_to_what_is_there(tmp_path: Path) -> None:
    write_task(tmp_path / "tasks" / "tiny")
    write_mesh(tmp_path / "tasks" / "mesh")
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        ann = operator(server)
        bob = owner(ann, "bob")
        Visitor(server.url).ask("POST", "/api/tasks/tiny/restore", {"version": 0}, 401)
        bob.ask("POST", "/api/tasks/tiny/restore", {"version": 0}, 403)
        missing = ann.ask("POST", "/api/tasks/tiny/restore", {"version": 7}, 404)
        assert "the newest is 0" in missing["error"]["message"]
        ann.ask("POST", "/api/tasks/tiny/restore", {"version": -1}, 400)
        peers = ann.ask("POST", "/api/tasks/mesh/restore", {"version": 0}, 409)
        assert "hold the model themselves" in peers["error"]["message"]
        assert ann.ask("POST", "/api/tasks/tiny/restore", {"version": 0})["version"] == 1
