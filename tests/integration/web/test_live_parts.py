"""Scripts refresh a page by its live parts alone, and get nothing while they are the same."""

from __future__ import annotations

import re
from collections.abc import Iterator
from http.client import HTTPConnection
from urllib.parse import urlsplit

import numpy as np
import pytest

from tests.support.tasks.tiny_task import SIZE, write_task, write_units
from tests.support.timeouts import PATIENCE
from tests.support.web.rounds_client import Client
from tests.support.web.server_process import Server, running

PAGES = ("/", "/tasks/tiny", "/tasks/tiny/rounds", "/tasks/tiny/train", "/tasks/units/train", "/tasks/units")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("live")
    write_task(folder / "tasks" / "tiny", min_available_clients=1, quorum=1, rounds=5)
    write_units(folder / "tasks" / "units")
    with running(folder / "tasks", folder / "data") as server:
        yield server


def ask(server: Server, path: str, **headers: str) -> tuple[int, dict[str, str], str]:
    connection = HTTPConnection(urlsplit(server.url).netloc, timeout=PATIENCE)
    try:
        connection.request(
            "GET", path, headers={name.replace("_", "-"): one for name, one in headers.items()}
        )
        answer = connection.getresponse()
        return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read().decode()
    finally:
        connection.close()


def parts(html: str) -> list[str]:
    return re.findall(r'data-live="([^"]*)"', html)


@pytest.mark.parametrize("path", PAGES)
def test_the_live_parts_of_a_page_are_those_of_the_whole_one_and_no_more(server: Server, path: str) -> None:
    _, _, page = ask(server, path)
    status, headers, live = ask(server, f"{path}?live=")
    assert status == 200
    assert sorted(parts(live)) == sorted(parts(page)) != []
    assert "<html" not in live
    assert "<script" not in live
    assert len(live) < len(page) / 2
    assert headers["cache-control"] == "private, no-cache"


def test_parts_that_are_the_same_are_not_sent_again(server: Server) -> None:
    _, headers, live = ask(server, "/tasks/units?live=")
    again = ask(server, "/tasks/units?live=", If_None_Match=headers["etag"])
    assert (again[0], again[2]) == (304, "")
    assert again[1]["etag"] == headers["etag"]
    # Another language has other words.
    status, spanish, text = ask(
        server, "/tasks/units?live=", If_None_Match=headers["etag"], Accept_Language="es"
    )
    assert status == 200
    assert text != live
    assert "Accept-Language" in spanish["vary"]


async def test_parts_that_changed_are_sent(server: Server) -> None:
    _, before, _ = ask(server, "/tasks/tiny?live=")
    async with Client(server.url) as client:
        await client.ready()
        await client.deliver(await client.selected(), np.full(SIZE, 0.01, np.float32))
        await client.selected()
        status, after, live = ask(server, "/tasks/tiny?live=", If_None_Match=before["etag"])
    assert status == 200
    assert after["etag"] != before["etag"]
    assert 'data-version="1"' in live


def test_the_parts_of_older_rounds_are_none(server: Server) -> None:
    status, _, text = ask(server, "/tasks/tiny/rounds?before=1&live=")
    assert status == 200
    assert parts(text) == []


def test_a_page_without_live_parts_is_sent_whole(server: Server) -> None:
    _, _, page = ask(server, "/tasks/tiny/model?live=")
    assert "<html" in page
