"""Somebody claims the contributions of another volunteer, or looks for the person behind several devices."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from backend.server.accounts.linked_devices import volunteer_digest
from backend.wire.client_id import client_id
from tests.support.attacks.colluding_tokens import work
from tests.support.attacks.units_server import ALONE, units_server
from tests.support.timeouts import eventually
from tests.support.web.server_process import Server
from tests.support.web.unit_client import UnitClient
from tests.support.web.visitors import Visitor, operator

KEY, OTHER = (f"minga_devices_{secrets.token_urlsafe(32)}" for _ in range(2))
TOKENS = [secrets.token_urlsafe(32) for _ in range(2)]
CLIENTS = [client_id(token) for token in TOKENS]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with units_server(tmp_path, epochs=1000, trust=ALONE) as running:
        for name, token in zip(("laptop", "phone"), TOKENS, strict=True):
            ask(running, "PUT", {"key": KEY, "token": token, "name": name})
        yield running


def ask(server: Server, method: str, body: dict[str, str], status: int | None = None) -> Any:
    return Visitor(server.url).ask(method, "/api/devices", body, status)


def linked(server: Server, key: str) -> list[str]:
    """The clients that the holder of `key` sees."""
    return [device["client"] for device in ask(server, "POST", {"key": key})["devices"]]


def test_the_holder_of_the_key_sees_all_devices_by_one_name(server: Server) -> None:
    answer = ask(server, "POST", {"key": KEY})
    assert [device["client"] for device in answer["devices"]] == CLIENTS
    assert [device["name"] for device in answer["devices"]] == ["laptop", "phone"]
    assert answer["name"]
    ask(server, "DELETE", {"token": TOKENS[0]}, 204)
    assert linked(server, KEY) == CLIENTS[1:]


def test_what_pages_show_of_a_device_is_not_enough_to_claim_it(server: Server) -> None:
    for shown in (CLIENTS[0], CLIENTS[0] * 2, CLIENTS[0].upper() * 2):
        status = 400 if len(shown) < 22 else 200
        ask(server, "PUT", {"key": OTHER, "token": shown}, status)
        ask(server, "DELETE", {"token": shown}, 400 if status == 400 else 204)
    assert linked(server, KEY) == CLIENTS
    assert not set(linked(server, OTHER)) & set(CLIENTS)


def test_neither_a_device_nor_a_digest_stands_for_the_key(server: Server) -> None:
    digest = volunteer_digest(KEY)
    for key in (digest, CLIENTS[0], TOKENS[0], "minga_devices_", f"{KEY} "):
        ask(server, "POST", {"key": key}, 400)
    assert linked(server, f"minga_devices_{digest[:43]}") == []


def test_a_key_that_nobody_uses_looks_like_any_other(server: Server) -> None:
    assert ask(server, "POST", {"key": OTHER})["devices"] == []


def test_another_sites_page_links_nothing(server: Server) -> None:
    body = {"key": OTHER, "token": TOKENS[0]}
    visitor = Visitor(server.url)
    visitor.ask("PUT", "/api/devices", body, 403, Origin="http://evil.example", Sec_Fetch_Site="cross-site")
    assert linked(server, OTHER) == []


def test_the_server_keeps_the_key_nowhere(server: Server, tmp_path: Path) -> None:
    ask(server, "PUT", {"key": KEY, "token": "no token"}, 400)
    Visitor(server.url).ask("POST", f"/api/devices?{urlencode({'key': 'x'})}", {"key": KEY})
    server.stop()
    folders = [tmp_path, Path(".make")]
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    assert any(CLIENTS[0].encode() in path.read_bytes() for path in files if path.is_relative_to(tmp_path))
    for secret in (KEY, KEY.removeprefix("minga_devices_"), *TOKENS):
        assert not [path for path in files if secret.encode() in path.read_bytes()]


async def test_an_owner_sees_the_devices_apart(server: Server) -> None:
    async with UnitClient(server.url, token=TOKENS[0]) as one, UnitClient(server.url, token=TOKENS[1]) as two:
        for client in (one, two):
            await client.ready(2)
        await asyncio.gather(*(work(client, False, 1.0) for client in (one, two)))
    await asyncio.to_thread(look, server)


def look(server: Server) -> None:
    """Asserts that nothing that an owner is shown names the volunteer."""
    owner = operator(server)
    path = "/api/tasks/tiny"
    eventually(lambda: len(server.get(f"{path}/contributions")["contributions"]) == 2, "no contributions")
    digest = volunteer_digest(KEY)
    for page in (
        "/dashboard",
        "/participants",
        "/contributions",
        "/units",
        "/units/history",
        "/figures/figures.json",
    ):
        shown = json.dumps(owner.ask("GET", path + page))
        assert digest[:16] not in shown
        assert "laptop" not in shown


def test_links_from_one_address_come_at_a_rate(server: Server) -> None:
    for _ in range(20):
        token = secrets.token_urlsafe(32)
        try:
            ask(server, "PUT", {"key": OTHER, "token": token}, 429)
        except AssertionError:
            continue
        break
    else:
        pytest.fail("any number of devices may be linked")
    # What is linked already stays, and may be said again.
    ask(server, "PUT", {"key": KEY, "token": TOKENS[0], "name": "laptop"})


def test_links_outlive_a_restart(server: Server, tmp_path: Path) -> None:
    server.stop()
    with units_server(tmp_path, epochs=1000, trust=ALONE) as again:
        assert linked(again, KEY) == CLIENTS
