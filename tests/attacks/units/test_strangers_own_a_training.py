"""Colluding tokens agree on noise to own a training of work units, or to have honest clients found false."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from backend.wire.client_id import client_id
from tests.support.attacks.colluding_tokens import collude
from tests.support.tasks.tiny_task import write_units
from tests.support.web.server_process import Server, running
from tests.support.web.unit_client import UnitClient

SECONDS = 4.0
OWNER = secrets.token_urlsafe(24)
TRUSTED: dict[str, Any] = {"spot_checks": 0.1, "trusted": [client_id(OWNER)]}


@pytest.fixture
def server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Iterator[Server]:
    """A server behind a proxy, so that each client may have an address of its own."""
    monkeypatch.setenv("MINGA_TRUSTED_PROXIES", "127.0.0.1")
    write_units(tmp_path / "tasks" / "tiny", epochs=1000, trust=request.param)
    with running(tmp_path / "tasks", tmp_path / "data") as one:
        yield one


@pytest.mark.parametrize("server", [{}], indirect=True)
async def test_two_tokens_of_one_address_confirm_nothing(server: Server) -> None:
    liars, _ = await collude(server.url, ["192.0.2.7", "192.0.2.9"], [], SECONDS)
    assert [one.counted for one in liars] == [0, 0]
    assert server.get("/api/tasks/tiny")["version"] == 0


@pytest.mark.parametrize("server", [TRUSTED], indirect=True)
async def test_strangers_of_many_networks_get_few_lies_past_a_trusted_peer(server: Server) -> None:
    peer = UnitClient(server.url, token=OWNER, address="198.51.100.1")
    honest = [UnitClient(server.url, address=f"203.0.{n}.1") for n in range(6)]
    liars, (owner, *others) = await collude(
        server.url, [f"192.0.{n}.1" for n in range(2)], [peer, *honest], SECONDS
    )
    lies = sum(len(one.blended) for one in liars)
    true = sum(len(one.blended) for one in (owner, *others))
    assert true > 20
    assert lies <= 0.01 * (true + lies)
    # Nobody honest is called false, whatever the liars said of the same units.
    assert not [code for one in others for code in one.rejected if code == "invalid"]
    assert "invalid" in [code for one in liars for code in one.rejected]
