"""A neighbour, or bad luck, uses up a household's newcomers: its honest devices are refused for an hour."""

from __future__ import annotations

import secrets
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed

from backend.wire.messages import Leave
from backend.wire.unit_messages import Idle, Unit
from tests.support.attacks.units_server import units_server
from tests.support.web.unit_client import UnitClient

NEWCOMERS = 3
TRIES = 2 * NEWCOMERS
TRUST = {"newcomers": NEWCOMERS}


@pytest.fixture(autouse=True)
def behind_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINGA_TRUSTED_PROXIES", "127.0.0.1")


async def refusal(client: UnitClient) -> str:
    """Returns why a client is not let in; "" if it is."""
    try:
        async with client:
            return ""
    except ConnectionClosed as error:
        return str(error)


async def test_a_full_room_costs_nobody_a_newcomer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINGA_MAX_CLIENTS", "1")
    with units_server(tmp_path, trust=TRUST) as server:
        async with UnitClient(server.url, address="203.0.113.1") as first:
            for _ in range(TRIES):
                said = await refusal(UnitClient(server.url, address="198.51.100.7"))
                assert "the limit of this task" in said
            await first.say(Leave())
        assert await refusal(UnitClient(server.url, address="198.51.100.7")) == ""


async def test_a_device_that_comes_again_before_it_is_ready_costs_one_newcomer(tmp_path: Path) -> None:
    token = secrets.token_urlsafe(24)
    with units_server(tmp_path, trust=TRUST) as server:
        for _ in range(TRIES):
            assert await refusal(UnitClient(server.url, token=token, address="198.51.100.7")) == ""
        others = [await refusal(UnitClient(server.url, address="198.51.100.7")) for _ in range(NEWCOMERS)]
        assert others[:-1] == [""] * (NEWCOMERS - 1)
        assert f"{NEWCOMERS} new devices an hour" in others[-1]
        async with UnitClient(server.url, token=token, address="198.51.100.7") as client:
            await client.ready()
            assert isinstance(await client.next(Unit, Idle), Unit)
