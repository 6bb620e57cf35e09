"""What drafts are told of their plans over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.tasks.tiny_task import write_task
from tests.support.web.draft_client import Drafter
from tests.support.web.server_process import Server, running
from tests.support.web.visitors import Visitor, operator, owner, program


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("planning")
    write_task(folder / "tasks" / "tiny")
    with running(folder / "tasks", folder / "data") as server:
        yield server


@pytest.fixture(scope="module")
def bob(server: Server) -> Drafter:
    return Drafter(program(owner(operator(server), "bob"), "create"))


@pytest.fixture(scope="module")
def draft(bob: Drafter) -> str:
    return bob.begin("cats")


def test_what_is_worked_out_is_for_those_whose_draft_it_is(server: Server, draft: str) -> None:
    for path in (f"{draft}/estimate", f"{draft}/privacy"):
        assert Drafter(Visitor(server.url)).send("POST", path, {}).status == 401
    assert Drafter(Visitor(server.url)).send("GET", f"{draft}/shown/0/after").status == 401


def test_costs_and_protection_are_told_and_nothing_is_saved(bob: Drafter, draft: str) -> None:
    before = bob.send("GET", draft).json
    told = bob.send("POST", f"{draft}/estimate", {"volunteers": 4, "examples": 9}).json
    assert (told["problem"], told["estimate"]) == (None, None)
    assert "Convert the model first" in told["waits"]
    mesh = before["task"] | {"coordination": before["task"]["coordination"] | {"scheme": "decentralized"}}
    privacy = bob.send("POST", f"{draft}/privacy", {"task": mesh}).json
    assert "The server never receives your update" in privacy["disclosure"]["server"][0]
    assert len(privacy["options"]) == 8
    assert bob.send("GET", draft).json == before


def test_a_draft_whose_members_check_each_other_is_described_and_takes_no_masks(
    bob: Drafter, draft: str
) -> None:
    task = bob.send("GET", draft).json["task"]
    task["training"] = {"steps": 10}
    task["data"] |= {"shards_per_client": 1}
    task["coordination"] |= {"scheme": "decentralized", "min_available_clients": 3, "byzantine": {}}
    saved = bob.send("PATCH", draft, {"task": task})
    assert saved.status == 200
    review = {one["step"]: one["lines"] for one in bob.send("GET", f"{draft}/review").json["sections"]}
    plan = " ".join(review["plan"])
    assert "Members check each other: they make means again" in plan
    assert "A round opens with 3 members, who convict one liar" in plan
    privacy = bob.send("POST", f"{draft}/privacy", {}).json
    refused = {one["key"]: one["refused"] for one in privacy["options"]}
    assert "masks hide it" in refused["masked"]
    assert refused["open"] is None


@pytest.mark.parametrize(
    ("path", "body", "sentence"),
    [
        ("estimate", {"volunteers": 0}, "volunteers"),
        ("estimate", {"volunteers": 10**9}, "volunteers"),
        ("estimate", {"examples": "many"}, "examples"),
        ("estimate", {"task": []}, "object"),
        ("privacy", {"epsilon": -1}, "epsilon"),
        ("privacy", {"who": "me"}, "who"),
    ],
)
def test_bad_requests_are_told_which_field_is_wrong(
    bob: Drafter, draft: str, path: str, body: dict[str, Any], sentence: str
) -> None:
    answer = bob.send("POST", f"{draft}/{path}", body)
    assert answer.status == 400
    assert sentence in answer.text


def test_tables_that_cannot_be_are_told_as_a_problem(bob: Drafter, draft: str) -> None:
    odd: list[dict[str, Any]] = [
        {"hooks": {"on_round_end": ["rm"]}},
        {"model": 3},
        {},
        {"security": {"aggregation": [[]]}},
    ]
    for task in odd:
        for path in ("estimate", "privacy"):
            answer = bob.send("POST", f"{draft}/{path}", {"task": task})
            assert (answer.status, answer.json["problem"] is None) == (200, False)


def test_examples_are_shown_before_and_after(bob: Drafter) -> None:
    draft = bob.begin("rows")
    assert bob.send("POST", f"{draft}/jobs", {"kind": "show"}).status == 409
    rows = "age,town,class\n" + "".join(f"{n * n},{'ab'[n % 2]},{'xy'[n % 2]}\n" for n in range(40))
    bob.upload(draft, "data", "people.csv", rows.encode())
    assert bob.work(draft, "look")["state"] == "done"
    shown = bob.work(draft, "show")["result"]
    assert [one["name"] for one in shown["columns"]] == ["age", "town", "class"]
    assert shown["misfit"] is None
    for path in ("shown/0/after", "shown/0/before", "shown/0/else", "shown/99/after"):
        assert bob.send("GET", f"{draft}/{path}").status == 404
    task = bob.send("GET", draft).json["task"]
    task["data"]["preprocess"]["columns"] = [{"name": "nobody", "kind": "number"}]
    bob.send("PATCH", draft, {"task": task})
    failed = bob.work(draft, "show")
    assert (failed["state"], "column 'nobody' is missing" in failed["log"][-1]["text"]) == ("failed", True)
