"""A stranger's one request of 64 KiB, a string without end, keeps the server from answering anybody."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from backend.web.requests.body import MAX_JSON_BYTES, MOST_NESTED, is_nested_deeper
from tests.support.tasks.tiny_task import write_task
from tests.support.timeouts import PATIENCE
from tests.support.web.server_process import running

# Reading a byte of one of these may not take many times as long as a byte of an honest string.
TIMES = 20
HONEST = b'{"text": "' + b"a" * MAX_JSON_BYTES + b'"}'
HOSTILE = {
    "escaped quotes": b'"' + b'\\"' * (MAX_JSON_BYTES // 2 - 1),
    "escaped backslashes": b'"' + b"\\\\" * (MAX_JSON_BYTES // 2),
    "quotes": b'"' * (MAX_JSON_BYTES - 1),
    "strings, the last without end": b'"\\"",' * (MAX_JSON_BYTES // 5) + b'"\\',
    "backslashes outside of strings": b'\\"' * (MAX_JSON_BYTES // 2),
}


def seconds(content: bytes) -> float:
    """Returns the CPU seconds of the fastest of three looks at `content`."""

    def once() -> float:
        began = time.process_time()
        is_nested_deeper(content, MOST_NESTED)
        return time.process_time() - began

    return min(once() for _ in range(3))


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_string_without_end_takes_no_longer_than_an_honest_one(kind: str) -> None:
    assert seconds(HOSTILE[kind]) < TIMES * max(seconds(HONEST), 1e-3)


def test_such_a_request_is_refused(tmp_path: Path) -> None:
    write_task(tmp_path / "tasks" / "tiny")
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        headers = {"Content-Type": "application/json", "Origin": server.url, "Sec-Fetch-Site": "same-origin"}
        for path in ("/api/sign-in/password", "/api/sign-in/link", "/api/join"):
            body = HOSTILE["escaped quotes"]
            answer = httpx.post(server.url + path, content=body, headers=headers, timeout=PATIENCE)
            assert answer.status_code == 400, answer.text


@pytest.mark.parametrize(
    "text",
    [
        lambda nested: nested,
        lambda nested: b'{"a": "\\"[[\\\\", "b": ' + nested + b"}",
        lambda nested: nested + b'"without end \\',
    ],
)
def test_what_is_nested_is_still_seen(text: Callable[[bytes], bytes]) -> None:
    assert is_nested_deeper(text(b"[" * 33 + b"]" * 33), MOST_NESTED)
    assert not is_nested_deeper(text(b"[" * 31 + b"]" * 31), MOST_NESTED)
    assert not is_nested_deeper(text(b'["' + b"[" * 40 + b'"]'), MOST_NESTED)
