"""Everybody behind a proxy that adds no header seems to be somebody else on the server's own machine."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.support.attacks.colluding_tokens import work
from tests.support.attacks.units_server import units_server
from tests.support.web.unit_client import UnitClient

SECONDS = 2.0


async def blended(folder: Path, hosts: tuple[str, str]) -> int:
    """Lets two clients agree on noise that call the server by these names; returns how much gets in."""
    with units_server(folder, epochs=1000) as server:
        async with AsyncExitStack() as stack:
            liars = [await stack.enter_async_context(UnitClient(server.url, host=host)) for host in hosts]
            for client in liars:
                await client.ready(4)
            outcomes = await asyncio.gather(*(work(client, True, SECONDS) for client in liars))
    return sum(len(outcome.blended) for outcome in outcomes)


@pytest.mark.parametrize("second", ["minga.example.org", "localhost"])
async def test_clients_of_a_proxy_that_adds_no_header_confirm_nothing(tmp_path: Path, second: str) -> None:
    assert await blended(tmp_path, ("minga.example.org", second)) == 0


async def test_two_clients_on_the_servers_machine_confirm_each_other(tmp_path: Path) -> None:
    assert await blended(tmp_path, ("localhost:8000", "127.0.0.1")) > 0
