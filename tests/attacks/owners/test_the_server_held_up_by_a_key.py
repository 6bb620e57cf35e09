"""An owner's task file, a key of many thousand parts, keeps the server from answering anybody."""

from __future__ import annotations

import time
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.errors import TaskFileError
from backend.formats.task_file.reading.diagnostics import problems
from backend.formats.task_file.reading.toml_parser import MOST_KEY_PARTS, parse_toml
from backend.server.drafts.task_tables import MAX_BYTES, from_toml
from tests.support.tasks.owner_files import zip_bytes
from tests.support.tasks.tiny_task import write_task
from tests.support.web.draft_client import Drafter
from tests.support.web.server_process import Server, running
from tests.support.web.visitors import operator, program

# Refusing one of these may not take many times as long as reading an honest file of the same length.
TIMES = 10
LENGTH = 20_000
HONEST = "".join(f"key-{number} = {number}\n" for number in range(LENGTH // 14))
DEEP = "a." * (LENGTH // 2)
HOSTILE = {
    "a key": f"{DEEP}a = 1",
    "a key of quoted parts": '"a".' * (LENGTH // 4) + "a = 1",
    "a key with room between its parts": "a . " * (LENGTH // 4) + "a = 1",
    "a table": f"[{DEEP}a]",
    "a list of tables": f"[[{DEEP}a]]",
    "a key within a table": f"b = {{ {DEEP}a = 1 }}",
    "a key after a string": f"b = \"\"\"\"\"\"\nc = ''''''\n{DEEP}a = 1",
    "keys in a deep table": f"[{'a.' * (LENGTH // 4)}a]\n"
    + "".join(f"b{n}=1\n" for n in range(LENGTH // 12)),
}


def seconds(text: str) -> float:
    """Returns the CPU seconds that a draft's task file of this text takes."""
    began = time.process_time()
    with suppress(TaskFileError):
        from_toml(text)
    return time.process_time() - began


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_key_of_many_parts_is_refused_at_once(kind: str) -> None:
    assert seconds(HOSTILE[kind]) < TIMES * max(seconds(HONEST), 0.005)
    with pytest.raises(TaskFileError, match=r"A key has over 16 parts \(at line \d+, column \d+\)"):
        from_toml(HOSTILE[kind])
    (problem,) = problems(HOSTILE[kind])
    assert (problem.line is not None, "A key has over 16 parts, at character" in problem.text) == (True, True)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("keys")
    write_task(folder / "tasks" / "tiny")
    with running(folder / "tasks", folder / "data") as server:
        yield server


def test_it_is_refused_wherever_a_task_file_comes_in(server: Server) -> None:
    eve = Drafter(program(operator(server), "create"))
    draft, content = eve.begin("eve"), ("a." * (MAX_BYTES // 2 - 10) + "a=1").encode()
    assert eve.send("PUT", f"{draft}/task.toml", content).status == 400
    answer = eve.send("POST", f"{draft}/task.toml/check", content)
    assert [problem["line"] for problem in answer.json["problems"]] == [1]
    kinds = {"application/toml": content, "application/zip": zip_bytes({"task.toml": content})}
    for kind, body in kinds.items():
        answer = eve.send("PUT", "/api/drafts/import", body, Content_Type=kind)
        assert (answer.status, "A key has over" in answer.text) == (400, True), answer.text


def test_an_operators_task_file_with_such_a_key_is_left_out(tmp_path: Path) -> None:
    for name in ("tiny", "odd"):
        write_task(tmp_path / "tasks" / name)
    file = tmp_path / "tasks" / "odd" / "task.toml"
    file.write_text(f"{HOSTILE['a key']}\n{file.read_text('utf-8')}", "utf-8")
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        assert [task["name"] for task in server.get("/api/tasks")["tasks"]] == ["tiny"]


# Pieces that TOML puts together, so that many texts are valid and others nearly so.
PIECES = [
    '"', '"""', "'", "'''", "\\", '\\"', "\n", "#", "=", ".", "..", "a", " ", "[", "]", "{", "}", ",", "1.5",
    "k = ", "\nk2 = ", '"' + "." * 40 + '"', "'" + "." * 40 + "'", "#" + "." * 40 + "\n", "a.b = ", "." * 40,
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_valid_texts_are_read_as_before(text: str) -> None:
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    assert parse_toml(text) == tables


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_no_text_before_it_hides_a_key_of_many_parts(text: str) -> None:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    with pytest.raises(ValueError, match="A key has over"):
        parse_toml(f"{text}\n{'long.' * MOST_KEY_PARTS}key = 1")
