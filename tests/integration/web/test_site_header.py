"""The header of every page leads to the documentation and to the reader's account."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.support.tasks.tiny_task import write_task
from tests.support.web.server_process import Server, running
from tests.support.web.visitors import Visitor, operator

PUBLIC = ("/", "/tasks/tiny", "/tasks/tiny/train", "/tasks/tiny/model", "/sign-in", "/join", "/api/docs")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("header")
    write_task(folder / "tasks" / "tiny")
    with running(folder / "tasks", folder / "data") as server:
        yield server


def header(visitor: Visitor, path: str) -> str:
    page: str = visitor.ask("GET", path, Accept="text/html")
    found: list[str] = re.findall(r'(?s)<header class="masthead">.*?</header>', page)
    return found[0]


def link(html: str, address: str) -> str:
    found: list[str] = re.findall(rf'<a [^>]*href="{address}"[^>]*>(.*?)</a>', html)
    return found[0]


def test_strangers_find_the_sign_in_and_the_docs_on_every_page(server: Server) -> None:
    for path in PUBLIC:
        html = header(Visitor(server.url), path)
        assert link(html, "/account") == "Sign in", path
        assert link(html, "/docs/") == "Docs", path
        assert 'action="/docs/"' in html, path
        assert "/drafts" not in html, path


def test_owners_read_the_name_of_their_account_on_every_page(server: Server) -> None:
    ann = operator(server)
    for path in (*PUBLIC[:4], "/account", "/drafts", "/tasks/tiny/manage", "/api/docs"):
        html = header(ann, path)
        assert link(html, "/account") == "ann", path
        assert link(html, "/drafts") == "Your drafts", path
