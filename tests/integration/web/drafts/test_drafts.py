"""Drafts over HTTP: whose they are, and what hostile requests are told."""

from __future__ import annotations

import hashlib
import itertools
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.tasks.tiny_task import write_task
from tests.support.web.draft_client import Drafter
from tests.support.web.server_process import Server, running
from tests.support.web.visitors import Visitor, owner, program

NUMBERS = itertools.count(1)
MODEL = b"PK\x03\x04 a model of the gallery"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("drafts")
    tiny = write_task(folder / "tasks" / "tiny")
    (tiny / "bundle" / "model.keras").write_bytes(MODEL)
    write_task(folder / "tasks" / "bare")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MINGA_SIGN_INS_PER_MINUTE", "1000")
        patch.setenv("MINGA_MAX_DRAFTS", "200")
        patch.setenv("MINGA_MAX_DATA_MIB", "1")
        with running(folder / "tasks", folder / "data") as server:
            yield server


@pytest.fixture
def draft(bob: Drafter) -> str:
    """The address of a new draft of bob's."""
    return bob.begin(f"cats-{next(NUMBERS)}")


def test_drafts_are_for_those_with_an_account(server: Server, draft: str) -> None:
    anybody = Drafter(Visitor(server.url))
    for method, path in (
        ("GET", "/api/drafts"),
        ("GET", draft),
        ("DELETE", draft),
    ):
        assert anybody.send(method, path).status == 401
    assert anybody.send("POST", "/api/drafts", {"name": "x"}).status == 401


def test_a_draft_is_its_owners_alone(ann: Visitor, bob: Drafter, draft: str) -> None:
    eve = Drafter(program(owner(ann, f"eve{next(NUMBERS)}"), "create"))
    for method, path in (("GET", draft), ("DELETE", draft), ("PATCH", draft), ("POST", f"{draft}/launch")):
        assert eve.send(method, path, {}).status == 404
    assert eve.send("GET", "/api/drafts").json == {"drafts": []}
    assert bob.send("GET", draft).status == 200
    # Who runs the server may look.
    assert Drafter(program(ann, "create")).send("GET", draft).status == 200
    watcher = Drafter(program(ann, "inspect"))
    assert watcher.send("GET", draft).status == 403


def test_a_draft_is_saved_as_it_is_filled_in(bob: Drafter, draft: str) -> None:
    shown = bob.send("GET", draft).json
    task = shown["task"] | {"title": "All cats", "summary": "Cats."}
    bob.send("PATCH", draft, {"task": task, "readme": "# Cats\n<script>alert(1)</script>"})
    text = bob.send("GET", f"{draft}/task.toml").text
    assert tomllib.loads(text)["title"] == "All cats"
    changed = text.replace("All cats", "Some cats")
    assert bob.send("PUT", f"{draft}/task.toml", changed.encode()).json["task"]["title"] == "Some cats"
    assert bob.send("GET", draft).json["readme"].startswith("# Cats")
    assert draft.rpartition("/")[2] in {one["id"] for one in bob.send("GET", "/api/drafts").json["drafts"]}


def test_a_draft_begins_with_the_model_of_a_task(bob: Drafter, draft: str) -> None:
    shown = bob.send("POST", f"{draft}/model", {"task": "tiny"}).json
    assert shown["files"]["model"]["name"] == "tiny.keras"
    assert shown["files"]["model"]["sha256"] == hashlib.sha256(MODEL).hexdigest()
    assert (shown["task"]["model"]["batch_size"], shown["task"]["title"]) == (4, shown["task"]["name"])
    assert {item["key"]: item["state"] for item in shown["checklist"]}["model-file"] == "done"
    # Nothing of the model is lost where the other one cannot be had.
    for task, sentence in (("bare", "has no model file"), ("nothing", "no task")):
        refused = bob.send("POST", f"{draft}/model", {"task": task})
        assert (refused.status, sentence in refused.text) == (404, True), refused.text
    assert bob.send("GET", draft).json["files"] == shown["files"]


def test_a_draft_goes_on_by_itself_where_its_owner_wants_it(bob: Drafter, draft: str) -> None:
    bob.upload(draft, "data", "d.csv", b"a,b,class\n" + b"1,2,x\n3,4,y\n" * 10)
    assert bob.send("GET", draft).json["jobs"] == {}
    shown = bob.send("PATCH", draft, {"onward": True}).json
    assert (shown["onward"], list(shown["jobs"])) == (True, ["look"])
    assert bob.ended(draft, "look")["state"] == "done"
    steps = {step["name"]: step["state"] for step in bob.send("GET", draft).json["steps"]}
    assert (steps["model"], steps["data"], steps["preprocess"]) == ("todo", "done", "todo")


def test_a_draft_that_is_deleted_is_gone(bob: Drafter, draft: str) -> None:
    assert bob.send("DELETE", draft).status == 204
    assert bob.send("GET", draft).status == 404


HOOKS = {"name": "x", "title": "x", "hooks": {"on_round_end": ["rm", "-rf", "/"]}}
JSON: Any = {"Content_Type": "application/json"}
# Method, what follows the draft's address, body, headers, status and the sentence.
HOSTILE: list[tuple[str, str, str, Any, dict[str, str], int, str]] = [
    ("hooks", "PATCH", "", {"task": HOOKS}, {}, 400, "runs a program on the server"),
    ("a field that nobody knows", "PATCH", "", {"owner": "me"}, {}, 400, "owner"),
    ("a task that is no table", "PATCH", "", {"task": [1]}, {}, 400, "object"),
    ("a text without end", "PATCH", "", {"readme": "x" * 300_000}, {}, 400, "length"),
    ("a body without end", "PATCH", "", {"readme": "x" * 3_000_000}, {}, 413, "at most"),
    ("half a JSON", "PATCH", "", b'{"task": ', JSON, 400, "truncated"),
    ("brackets", "PATCH", "", b'{"task": ' + b'{"a":' * 20_000, JSON, 400, "nested over 32 deep"),
    ("a body that is no UTF-8", "PATCH", "", b'{"readme": "\xff"}', JSON, 400, "cannot be used"),
    ("a form", "PATCH", "", b"task=1", {"Content_Type": "text/plain"}, 400, "Send JSON"),
    ("TOML that is none", "PUT", "/task.toml", b"[[[", {}, 400, "not valid TOML"),
    ("no number", "PUT", "/task.toml", b"rate = nan", {}, 400, "finite number"),
    ("a vast number", "PUT", "/task.toml", b"rounds = 1" + b"0" * 9999, {}, 400, "not valid TOML"),
    ("TOML that is no UTF-8", "PUT", "/task.toml", b"\xff\xfe", {}, 400, "not UTF-8"),
    ("TOML without end", "PUT", "/task.toml", b"#" * 300_000, {}, 413, "at most"),
    ("hooks in TOML", "PUT", "/task.toml", b"[hooks]\non_round_end = ['sh']", {}, 400, "runs a program"),
    ("work that nobody knows", "POST", "/jobs", {"kind": "rm"}, {}, 400, "rm"),
    ("work without a model", "POST", "/jobs", {"kind": "convert"}, {}, 409, "Bring a model first"),
    ("a look at nothing", "POST", "/jobs", {"kind": "look"}, {}, 409, "Bring data first"),
    ("a cut of nothing", "POST", "/jobs", {"kind": "cut"}, {}, 409, "convert the model first"),
    ("a dry run of nothing", "POST", "/jobs", {"kind": "rehearse"}, {}, 409, "Convert the model first"),
    ("a log of nothing", "GET", "/jobs/convert", None, {}, 404, "started yet"),
    ("a log of no kind", "GET", "/jobs/rm", None, {}, 404, "no such work"),
    ("a log from below zero", "GET", "/jobs/convert?after=-1", None, {}, 400, "whole number"),
    ("an end of nothing", "DELETE", "/jobs/convert", None, {}, 404, "No such job"),
    ("a picture of nothing", "GET", "/pictures/3", None, {}, 404, "inspect the data first"),
    ("a launch of no kind", "POST", "/launch", {"test": "yes"}, {}, 400, "bool"),
    ("a launch too early", "POST", "/launch", {}, {}, 409, "Bring the model. Convert the model."),
]


@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "status", "sentence"),
    [case[1:] for case in HOSTILE],
    ids=[case[0] for case in HOSTILE],
)
def test_a_hostile_request_gets_a_sentence(
    bob: Drafter,
    shared: str,
    method: str,
    path: str,
    body: object,
    headers: dict[str, str],
    status: int,
    sentence: str,
) -> None:
    answer = bob.send(method, f"{shared}{path}", body, **headers)
    assert (answer.status, answer.json["error"]["message"].find(sentence) >= 0) == (status, True), answer.text
    shown = bob.send("GET", shared).json
    assert (shown["files"], shown["uploads"], shown["jobs"]) == ({}, {}, {})


@pytest.fixture(scope="module")
def shared(bob: Drafter) -> str:
    """One draft for all requests that change nothing."""
    return bob.begin("shared")


@pytest.mark.parametrize("name", ["../../etc", "..%2F..%2Fetc", "0" * 17, "ABCDEF0123456789", "%00"])
def test_an_address_never_leads_out_of_the_drafts(bob: Drafter, name: str) -> None:
    assert bob.send("GET", f"/api/drafts/{name}").status == 404


def test_pages_of_other_sites_begin_nothing(ann: Visitor) -> None:
    body = {"name": "theirs"}
    ann.ask("POST", "/api/drafts", body, 403, Origin="https://elsewhere.example", Sec_Fetch_Site="cross-site")
