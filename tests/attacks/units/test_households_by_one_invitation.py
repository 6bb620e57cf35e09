"""One person follows an invitation for any number of people twice, and confirms their own lies."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.support.attacks.colluding_tokens import work
from tests.support.attacks.units_server import units_server
from tests.support.web.server_process import Server
from tests.support.web.unit_client import UnitClient
from tests.support.web.visitors import Visitor, operator

SECONDS = 2.0


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("MINGA_TRUSTED_PROXIES", "127.0.0.1")
    with units_server(tmp_path, "--set", "tiny.access.visibility=invited", epochs=1000) as running:
        yield running


def cookies(server: Server, count: int, terms: dict[str, Any]) -> list[str]:
    """Follows a new invitation in so many browsers; returns the cookies that these got."""
    code = operator(server).ask("POST", "/api/tasks/tiny/invitations", terms)["code"]
    visitors = [Visitor(server.url) for _ in range(count)]
    for visitor in visitors:
        visitor.ask("POST", "/api/join", {"code": code})
    return [f"minga_visitor={visitor.cookies['minga_visitor']}" for visitor in visitors]


async def blended(server: Server, terms: dict[str, Any]) -> int:
    """Lets two browsers at one address agree on noise; returns how much of it gets into the model."""
    async with AsyncExitStack() as stack:
        liars = [
            await stack.enter_async_context(UnitClient(server.url, address="203.0.113.7", cookie=cookie))
            for cookie in await asyncio.to_thread(cookies, server, 2, terms)
        ]
        for client in liars:
            await client.ready(4)
        outcomes = await asyncio.gather(*(work(client, True, SECONDS) for client in liars))
    return sum(len(outcome.blended) for outcome in outcomes)


async def test_a_link_for_any_number_of_people_tells_nobody_apart(server: Server) -> None:
    assert await blended(server, {}) == 0


async def test_people_of_a_link_for_so_many_confirm_each_other_behind_one_address(server: Server) -> None:
    assert await blended(server, {"uses": 2}) > 0
