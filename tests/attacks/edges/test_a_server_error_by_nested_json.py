"""A request of a few kilobytes, nested a thousand times, makes the server fail instead of refuse it."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.tasks.tiny_task import write_task
from tests.support.web.server_process import Server, running
from tests.support.web.visitors import Visitor, operator

DEPTHS = [40, 500, 900, 5000]


def lists(depth: int) -> str:
    return "[" * depth + "]" * depth


def tables(depth: int) -> str:
    return '{"a":' * depth + "1" + "}" * depth


def send(visitor: Visitor, method: str, path: str, body: str, kind: str = "application/json") -> int:
    """Returns the status of the answer."""
    headers = {"Content-Type": kind, "Origin": f"http://{visitor.host}", "Sec-Fetch-Site": "same-origin"}
    answer = httpx.request(
        method, f"http://{visitor.host}{path}", content=body, headers=headers, cookies=visitor.cookies
    )
    return answer.status_code


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("nested")
    write_task(folder / "tasks" / "tiny")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MINGA_SIGN_INS_PER_MINUTE", "1000")
        with running(folder / "tasks", folder / "data") as server:
            yield server


@pytest.fixture(scope="module")
def ann(server: Server) -> Visitor:
    return operator(server)


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("nested", [lists, tables])
def test_an_owners_nested_tables_are_refused(ann: Visitor, nested: Callable[[int], str], depth: int) -> None:
    draft = f"/api/drafts/{ann.ask('POST', '/api/drafts', {'name': 'nested', 'title': 'Nested'})['id']}"
    body = f'{{"task": {{"x": {nested(depth)}}}}}'
    for method, path in (("PATCH", ""), ("POST", "/estimate"), ("POST", "/privacy")):
        assert send(ann, method, draft + path, body) in (400, 413, 422), (path, depth)
    toml = f"x = {lists(depth)}"
    for method, path in (("PUT", "/task.toml"), ("POST", "/task.toml/check")):
        assert send(ann, method, draft + path, toml, "application/toml") < 500, (path, depth)
    ann.ask("DELETE", draft)


@pytest.mark.parametrize("depth", [*DEPTHS, 40_000])
def test_a_strangers_nested_answers_are_refused(server: Server, depth: int) -> None:
    stranger = Visitor(server.url)
    nested = base64.urlsafe_b64encode(lists(depth).encode()).decode().rstrip("=")
    response = json.dumps({"clientDataJSON": nested, "authenticatorData": "", "signature": ""})
    for body in (
        f'{{"credential": {tables(depth)}}}',
        f'{{"credential": {{"id": "a", "rawId": "a", "type": "public-key", "response": {response}}}}}',
        lists(depth),
    ):
        for path in ("/api/sign-in/passkey", "/api/sign-in/link", "/api/join"):
            assert 400 <= send(stranger, "POST", path, body) < 500, (path, depth)


def test_an_operators_nested_task_file_is_left_out_with_a_sentence(tmp_path: Path) -> None:
    for number, depth in enumerate(DEPTHS):
        file = write_task(tmp_path / "tasks" / f"task-{number}") / "task.toml"
        file.write_text(f"nested = {lists(depth)}\n{file.read_text('utf-8')}", "utf-8")
    write_task(tmp_path / "tasks" / "tiny")
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        assert [task["name"] for task in server.get("/api/tasks")["tasks"]] == ["tiny"]
