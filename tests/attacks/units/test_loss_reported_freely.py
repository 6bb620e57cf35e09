"""A participant would report any loss and accuracy with an honest update, and owners would believe them."""

from __future__ import annotations

import asyncio
import secrets
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from backend.server.units.validation.usual_results import MIN_NORMS
from backend.wire.client_id import client_id
from backend.wire.unit_messages import Board, Counted, Rejected, Unit
from tests.support.attacks.units_server import STEPS, units_server
from tests.support.tasks.tiny_task import SHARDS, SIZE
from tests.support.web.server_process import Server
from tests.support.web.unit_client import UnitClient

ONES = np.ones(SIZE, np.float32)
HONEST: dict[str, Any] = {"loss": 0.5, "sums": [(2.0, 5.0)]}
LIES: list[dict[str, Any]] = [
    {"loss": 0.0001, "sums": [(2.0, 5.0)]},
    {"loss": 40.0, "sums": [(2.0, 5.0)]},
    {"loss": 0.5, "sums": [(5.0, 5.0)]},
    {"loss": 0.5, "sums": [(2000.0, 5000.0)]},
]


async def send(client: UnitClient, unit: Unit, figures: dict[str, Any]) -> None:
    await client.deliver(unit, ONES, steps=STEPS, **figures)


async def outcome(client: UnitClient, unit: Unit) -> Counted | Rejected:
    while True:
        found: Counted | Rejected = await client.next(Counted, Rejected)
        if found.lease == unit.lease:
            return found


async def first_version(server: Server) -> dict[str, Any]:
    while True:
        versions = (await asyncio.to_thread(server.get, "/api/tasks/tiny/versions"))["versions"]
        if len(versions) > 1:
            return next(version for version in versions if version["version"] == 1)
        await asyncio.sleep(0.05)


async def work(client: UnitClient, figures: dict[str, Any]) -> list[Counted | Rejected]:
    """Does units until the task has finished, and returns what became of the results."""
    found: list[Counted | Rejected] = []
    await client.ready(SHARDS)
    while True:
        message: Unit | Counted | Rejected | Board = await client.next(Unit, Counted, Rejected, Board)
        match message:
            case Unit():
                await send(client, message, figures)
            case Board():
                if message.phase == "finished":
                    return found
            case _:
                found.append(message)


@pytest.mark.parametrize("lie", LIES)
async def test_a_lie_about_loss_or_metrics_does_not_count_beside_two_honest_results(
    tmp_path: Path, lie: dict[str, Any]
) -> None:
    with units_server(tmp_path, epochs=1, rows=5) as server:
        async with (
            UnitClient(server.url) as eve,
            UnitClient(server.url) as ann,
            UnitClient(server.url) as bob,
        ):
            of_eve, *honest = await asyncio.gather(work(eve, lie), work(ann, HONEST), work(bob, HONEST))
        assert of_eve
        assert all(isinstance(one, Rejected) for one in of_eve), "a lie was believed"
        assert all(isinstance(one, Counted) for one in [*honest[0], *honest[1]])
        version = await first_version(server)
        assert version["loss"] == pytest.approx(0.5)
        assert version["metrics"] == {"accuracy": pytest.approx(0.4)}


async def test_the_owners_peer_finds_lies_about_the_loss(tmp_path: Path) -> None:
    token = secrets.token_urlsafe(24)
    trust = {"replicas": 2, "trusted": [client_id(token)]}
    with units_server(tmp_path, epochs=1, trust=trust) as server:
        async with UnitClient(server.url) as eve, UnitClient(server.url, token=token) as peer:
            await eve.ready()
            unit = await eve.next(Unit)
            await send(eve, unit, LIES[0])
            await peer.ready()
            while (theirs := await peer.next(Unit)).unit != unit.unit:
                await send(peer, theirs, HONEST)
            await send(peer, theirs, HONEST)
            found = await outcome(eve, unit)
            assert isinstance(found, Rejected)
            assert found.code == "invalid"


@pytest.mark.parametrize("lie", [{"sums": [(1e30, 5.0)]}, {"sums": [(2.0, 5e6)]}, {"loss": 40.0}])
async def test_figures_of_a_result_that_stands_alone_are_checked(tmp_path: Path, lie: dict[str, Any]) -> None:
    samples = {"replicas": 1, "spot_checks": 0.02}
    dice = np.random.default_rng(1)
    with units_server(tmp_path, epochs=3, trust=samples) as server:
        async with UnitClient(server.url) as eve:
            await eve.ready()
            for _ in range(MIN_NORMS):
                honest = dice.choice([-1.0, 1.0], SIZE)
                unit = await eve.next(Unit)
                await eve.deliver(unit, honest, steps=STEPS, **HONEST)
                assert isinstance(await outcome(eve, unit), Counted)
            unit = await eve.next(Unit)
            await eve.deliver(unit, dice.choice([-1.0, 1.0], SIZE), steps=STEPS, **(HONEST | lie))
            with pytest.raises(TimeoutError):
                await eve.next(Counted, patience=1.0)
