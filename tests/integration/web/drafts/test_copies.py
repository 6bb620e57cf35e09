"""Drafts as files, copies of drafts and tasks, and what differs between two, over HTTP."""

from __future__ import annotations

import io
import itertools
import time
import zipfile
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from typing import Any

import pytest

from tests.support.tasks.owner_files import zip_bytes
from tests.support.tasks.tiny_task import write_task
from tests.support.timeouts import PATIENCE
from tests.support.web.draft_client import ABOUT, Drafter
from tests.support.web.server_process import Server, running
from tests.support.web.visitors import Visitor, operator, owner, program

NUMBERS = itertools.count(1)
ZIP, TOML = "application/zip", "application/toml"
SOUND = b"""
name = "cats"
title = "Cats"
[model]
batch_size = 8
[data]
source = "shards"
[coordination]
scheme = "federated"
rounds = 3
min_available_clients = 2
deadline = 60
"""
MODEL = b"PK\x03\x04" + bytes(range(256))
TABLE = b"a,b\n" + b"1,2\n" * 100


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("copies")
    first = write_task(folder / "tasks" / "tiny")
    second = write_task(folder / "tasks" / "tiny-2", more=1)
    for task in (first, second):
        (task / "bundle" / "model.keras").write_bytes(MODEL)
    file = second / "task.toml"
    file.write_text(f'follows = "tiny"\n{file.read_text("utf-8")}', "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MINGA_SIGN_INS_PER_MINUTE", "1000")
        patch.setenv("MINGA_MAX_DRAFTS", "200")
        patch.setenv("MINGA_MAX_MODEL_MIB", "1")
        patch.setenv("MINGA_MAX_DATA_MIB", "1")
        with running(folder / "tasks", folder / "data") as server:
            yield server


@pytest.fixture(scope="module")
def host(server: Server) -> Visitor:
    """The operator."""
    return operator(server)


@pytest.fixture(scope="module")
def ann(host: Visitor) -> Drafter:
    """A program of the operator."""
    return Drafter(program(host, "create", "edit", "inspect"))


@pytest.fixture(scope="module")
def bob(host: Visitor) -> Drafter:
    """A program of an owner who has no task."""
    return Drafter(program(owner(host, "bob"), "create", "edit", "inspect"))


@pytest.fixture(scope="module")
def full(bob: Drafter) -> str:
    """A draft of bob's with a text, a model and data."""
    draft = bob.begin("full")
    task = bob.send("GET", draft).json["task"] | ABOUT
    bob.send("PATCH", draft, {"task": task, "readme": "# Cats\n\nAll of them."})
    bob.upload(draft, "model", "my model.keras", MODEL)
    bob.upload(draft, "data", "table.csv", TABLE)
    return draft


def bring(drafter: Drafter, content: bytes, kind: str = ZIP) -> Any:
    return drafter.send("PUT", "/api/drafts/import", content, Content_Type=kind)


def fetched(server: Server, drafter: Drafter, path: str) -> tuple[dict[str, str], bytes]:
    """An answer's bytes as they are."""
    connection = HTTPConnection(server.url.removeprefix("http://"), timeout=PATIENCE)
    token = drafter.visitor.token
    connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
    answer = connection.getresponse()
    try:
        return {name.lower(): value for name, value in answer.headers.items()}, answer.read()
    finally:
        connection.close()


def test_a_draft_leaves_as_a_zip_and_comes_back_the_same(server: Server, bob: Drafter, full: str) -> None:
    headers, content = fetched(server, bob, f"{full}/export")
    assert headers["content-disposition"] == 'attachment; filename="full.zip"'
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == ["task.toml", "README.md", "model.keras", "data.csv"]
        assert archive.read("data.csv") == TABLE
    before = bob.send("GET", full).json
    answer = bring(bob, content)
    assert answer.status == 201, answer.text
    after = answer.json
    assert (after["task"], after["readme"]) == (before["task"], before["readme"])
    for kind in ("model", "data"):
        assert after["files"][kind]["sha256"] == before["files"][kind]["sha256"]
    found = bob.send("GET", f"/api/differences?before=draft:{before['id']}&after=draft:{after['id']}")
    assert found.json["changes"] == []


def test_a_draft_leaves_without_its_data_where_one_wants(server: Server, bob: Drafter, full: str) -> None:
    _, content = fetched(server, bob, f"{full}/export?data=0")
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.namelist() == ["task.toml", "README.md", "model.keras"]
    assert set(bring(bob, content).json["files"]) == {"model"}


def test_a_task_file_alone_becomes_a_draft(bob: Drafter) -> None:
    answer = bring(bob, SOUND, TOML)
    assert (answer.status, answer.json["task"]["title"]) == (201, "Cats")
    assert bring(bob, b"[[[", TOML).status == 400
    assert bring(bob, b"name = '\xff'", TOML).status == 400
    assert bring(bob, SOUND, "text/plain").status == 400


# What is inside a zip is looked at by a process of its own: tests/unit/datasets/inspection/test_draft_zip.py
# has more.
HOSTILE: list[tuple[str, Callable[[], bytes], str]] = [
    ("no zip", lambda: b"<html>", "not a zip file"),
    ("a bomb", lambda: zip_bytes({"task.toml": SOUND, "data.csv": bytes(1 << 23)}), "200 times"),
    ("a way out", lambda: zip_bytes({"task.toml": SOUND, "../../x": b"x"}), "no part of an exported draft"),
    ("a vast zip", lambda: bytes(4 << 20), "at most 3 MiB"),
    ("a pickle", lambda: zip_bytes({"task.toml": SOUND, "model.pkl": b"x"}), "never opened"),
    (
        "a page as a model",
        lambda: zip_bytes({"task.toml": SOUND, "model.keras": b"<html>"}),
        "does not",
    ),
    ("hooks", lambda: zip_bytes({"task.toml": b"[hooks]\non_round_end = ['sh']"}), "runs a program"),
    ("no TOML", lambda: zip_bytes({"task.toml": b"[[["}), "not valid TOML"),
]


@pytest.mark.parametrize(("make", "sentence"), [one[1:] for one in HOSTILE], ids=[one[0] for one in HOSTILE])
def test_a_hostile_zip_is_refused_and_leaves_nothing(
    server: Server, bob: Drafter, make: Callable[[], bytes], sentence: str
) -> None:
    before = bob.send("GET", "/api/drafts").json
    answer = bring(bob, make())
    assert answer.status in (400, 413, 422), answer.text
    assert sentence in answer.json["error"]["message"]
    assert "/drafts/" not in answer.json["error"]["message"]
    assert bob.send("GET", "/api/drafts").json == before


def test_an_owner_imports_one_zip_at_a_time_and_half_of_one_leaves_nothing(
    server: Server, bob: Drafter
) -> None:
    def titles() -> list[str]:
        return [one["title"] for one in bob.send("GET", "/api/drafts").json["drafts"]]

    before = titles()
    half = HTTPConnection(server.url.removeprefix("http://"), timeout=PATIENCE)
    half.putrequest("PUT", "/api/drafts/import")
    for name, value in (
        ("Authorization", f"Bearer {bob.visitor.token}"),
        ("Content-Type", ZIP),
        ("Content-Length", "1000000"),
    ):
        half.putheader(name, value)
    half.endheaders(b"PK\x03\x04")
    until(lambda: titles() != before)
    refused = bring(bob, zip_bytes({"task.toml": SOUND}))
    assert (refused.status, "Another zip" in refused.text) == (409, True)
    half.close()
    until(lambda: titles() == before)
    # The request of the half ends a moment after its draft is gone.
    until(lambda: bring(bob, zip_bytes({"task.toml": SOUND})).status == 201)


def until(holds: Callable[[], bool]) -> None:
    """Waits for what another request brings about."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_draft_is_copied_with_its_files(bob: Drafter, full: str) -> None:
    made = bob.send("POST", f"{full}/clone", {"name": "another"})
    assert made.status == 201, made.text
    before = bob.send("GET", full).json
    assert made.json["task"] == before["task"] | {"name": "another"}
    assert made.json["files"] == before["files"]
    changes = bob.send(
        "GET", f"/api/differences?before=draft:{before['id']}&after=draft:{made.json['id']}"
    ).json["changes"]
    assert [one["text"] for one in changes] == ['name changes from "full" to "another".']
    # The copy's files are its own.
    assert bob.send("DELETE", f"/api/drafts/{made.json['id']}").status == 204
    assert bob.send("POST", f"{full}/jobs", {"kind": "look"}).status == 202
    assert bob.send("POST", f"{full}/clone", {"name": "x"}).status in (201, 409)
    assert bob.send("POST", f"{full}/clone", {"name": "No Name"}).status == 400
    # What looking finds goes into the task file, which other tests take for settled.
    assert bob.ended(full, "look")["state"] == "done"


def test_a_new_version_of_a_task_has_its_model_and_data(ann: Drafter, bob: Drafter) -> None:
    made = ann.send("POST", "/api/tasks/tiny/clone", {"name": f"tiny-{next(NUMBERS) + 10}"})
    assert made.status == 201, made.text
    assert made.json["task"]["follows"] == "tiny"
    states = {one["key"]: one["state"] for one in made.json["checklist"]}
    assert [states[key] for key in ("model-file", "convert", "data")] == ["done"] * 3
    assert made.json["jobs"]["cut"]["log"][0]["text"] == "Taken over from 'tiny'."
    changes = ann.send("GET", f"/api/differences?before=task:tiny&after=draft:{made.json['id']}").json[
        "changes"
    ]
    assert [one["key"] for one in changes] == ["follows", "name"]
    # Another share held out: the data have to be brought for that.
    task = made.json["task"] | {"data": made.json["task"]["data"] | {"holdout": 0.3}}
    shown = ann.send("PATCH", f"/api/drafts/{made.json['id']}", {"task": task}).json
    states = {one["key"]: one["state"] for one in shown["checklist"]}
    assert (states["data-file"], states["convert"]) == ("todo", "done")


def test_the_pages_of_a_draft_that_says_nothing_or_nonsense_come_all_the_same(bob: Drafter) -> None:
    nonsense = b'name = 5\ntitle = {}\nlicence = "x"\nconsent = 1\nethics = []\naccess = 2\ntopics = 7\n'
    for content in (b"", nonsense):
        made = bring(bob, content, TOML)
        assert made.status == 201, made.text
        for step in ("about", "review"):
            page = bob.send("GET", f"/drafts/{made.json['id']}/{step}", Accept="text/html")
            assert (page.status, "<h3" in page.text) == (200, True)
        assert bob.send("GET", f"/api/drafts/{made.json['id']}/review").status == 200
        assert bob.send("GET", f"/api/drafts/{made.json['id']}/export").status == 200
    assert bob.send("GET", "/drafts", Accept="text/html").status == 200


def test_tasks_of_others_are_neither_copied_compared_nor_followed(bob: Drafter, ann: Drafter) -> None:
    assert bob.send("POST", "/api/tasks/tiny/clone", {"name": "mine"}).status == 403
    assert bob.send("GET", "/api/differences?before=task:tiny&after=task:tiny-2").status == 403
    theirs = ann.begin(f"ann-{next(NUMBERS)}").rpartition("/")[2]
    assert bob.send("GET", f"/api/differences?before=draft:{theirs}&after=draft:{theirs}").status == 404
    assert bob.send("POST", f"/api/drafts/{theirs}/clone", {"name": "mine"}).status == 404
    assert bob.send("GET", f"/api/drafts/{theirs}/export").status == 404
    assert bob.send("GET", "/api/differences?before=tiny").status == 400
    draft = bob.begin(f"bob-{next(NUMBERS)}")
    for before in ("tiny", "nobody-has-this"):
        task = bob.send("GET", draft).json["task"] | {"follows": before}
        bob.send("PATCH", draft, {"task": task})
        refused = bob.send("POST", f"{draft}/launch", {})
        assert refused.status == 409
        assert "not a task that you may change" in refused.json["error"]["message"]


def test_the_pages_of_a_task_and_of_its_new_version_link_to_each_other(server: Server) -> None:
    anybody = Drafter(Visitor(server.url))
    assert 'a newer version of this task: <a href="/tasks/tiny-2">' in anybody.send("GET", "/tasks/tiny").text
    assert 'a new version of <a href="/tasks/tiny">' in anybody.send("GET", "/tasks/tiny-2").text


def test_programs_read_what_an_owner_says_of_a_task(server: Server) -> None:
    told = Drafter(Visitor(server.url)).send("GET", "/api/tasks/tiny-2/about").json
    assert (told["earlier"], told["newer"]) == ("tiny", [])
    assert told["consent"] == {"basis": None, "note": ""}
    assert "&lt;script&gt;" in told["html"]


def test_a_text_is_shown_as_the_task_page_will_show_it(bob: Drafter, full: str) -> None:
    text = "# Cats\n<img src=x onerror=alert(1)>\n[a](javascript:alert(1)) **b**"
    html = bob.send("POST", f"{full}/preview", {"readme": text}).json["html"]
    assert "<h1>Cats</h1>" in html
    assert "<strong>b</strong>" in html
    assert "<img" not in html
    assert "href" not in html


def test_a_draft_is_told_in_words_by_its_steps(bob: Drafter, full: str) -> None:
    told = {one["step"]: one["lines"] for one in bob.send("GET", f"{full}/review").json["sections"]}
    assert list(told) == ["model", "data", "preprocess", "plan", "privacy", "about", "trial"]
    assert told["model"][0] == "The file is my model.keras, 260 bytes."
    assert "The server averages what clients send, in 20 rounds." in told["plan"]
    assert "The model is under Apache-2.0, the data: CC0-1.0." in told["about"]
    broken = bob.begin(f"broken-{next(NUMBERS)}")
    task = bob.send("GET", broken).json["task"] | {"coordination": 5}
    bob.send("PATCH", broken, {"task": task})
    told = {one["step"]: one["lines"] for one in bob.send("GET", f"{broken}/review").json["sections"]}
    assert told["plan"] == []


def test_faults_of_a_task_file_are_told_by_line_and_nothing_is_saved(bob: Drafter, full: str) -> None:
    before = bob.send("GET", full).json["task"]
    path = f"{full}/task.toml/check"
    assert bob.send("POST", path, SOUND).json == {"problems": []}
    wrong = SOUND.replace(b"rounds = 3", b'rounds = "three"')
    assert bob.send("POST", path, wrong).json["problems"] == [
        {"line": 10, "text": "`coordination.rounds` should be a whole number, not a text in quotes."}
    ]
    assert "runs a program" in bob.send("POST", path, b"[hooks]\n").json["problems"][0]["text"]
    assert bob.send("GET", full).json["task"] == before
