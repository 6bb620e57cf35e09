"""Gain: the model of a mesh and its round number, by results never made, after its server was away."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from contextlib import AbstractContextManager, AsyncExitStack
from pathlib import Path
from urllib.request import urlopen

import pytest

from backend.wire.mesh_messages import Averaged, Certificate
from tests.support.attacks.mesh_peers import (
    COORDINATION,
    SERVERLESS_GROUP,
    certificate_of,
    connected,
    make_version,
    plan_after_upload,
    plans_despite,
    showing,
    vector,
)
from tests.support.tasks.tiny_task import write_mesh
from tests.support.timeouts import PATIENCE
from tests.support.web.mesh_client import MeshPeer, address_of
from tests.support.web.server_process import Server, running

HONEST, LIE = vector(1.0), vector(-9.0)


def metrics_of(url: str) -> str:
    """Returns the server's metrics."""
    with urlopen(f"{url}/metrics", timeout=PATIENCE) as answer:
        text: str = answer.read().decode()
    return text


class Mesh:
    """A server of one mesh and the peers that it knew; `version` is made by three honest ones."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.honest: list[MeshPeer] = []
        self.strangers: list[MeshPeer] = []

    def server(self, fewest: int = 3) -> AbstractContextManager[Server]:
        """Starts the server, which opens rounds of `fewest` peers or more."""
        write_mesh(self.folder / "tasks" / "tiny", **COORDINATION | {"min_available_clients": fewest})
        return running(self.folder / "tasks", self.folder / "data")

    async def version(self) -> None:
        """Three honest peers make version 1 in round 1; five strangers only look; then the server ends."""
        with self.server() as server:
            async with AsyncExitStack() as stack:
                for _ in range(5):
                    self.strangers.append(await stack.enter_async_context(MeshPeer(server.url)))
                self.honest = await stack.enter_async_context(connected(server, count=3))
                await make_version(self.honest, HONEST)

    async def attack(self, lies: Sequence[tuple[MeshPeer, Certificate]]) -> tuple[str, int, int]:
        """Starts the server, and lets liars show their certificates before the honest peers are back.

        Returns the weights and the round that the honest train, and how many certificates were refused.
        """
        honest = [one for one in self.honest if one.id not in {liar.id for liar, _ in lies}]
        with self.server(len(lies) + len(honest)) as server:
            async with AsyncExitStack() as stack:
                liars: list[MeshPeer] = []
                for liar, lie in lies:
                    liars += await stack.enter_async_context(connected(server, [liar], **showing(lie)))
                back = await stack.enter_async_context(connected(server, honest))
                plans = await plans_despite(liars, back, LIE)
                metrics = await asyncio.to_thread(metrics_of, server.url)
        refused = re.findall(r'minga_updates_refused_total{code="bad-certificate".*} (.*)', metrics)
        return plans[0].weights, plans[0].round, sum(int(float(count)) for count in refused)


@pytest.fixture
async def mesh(tmp_path: Path) -> Mesh:
    """A mesh with version 1, whose server is away."""
    mesh = Mesh(tmp_path)
    await mesh.version()
    return mesh


async def test_two_strangers_that_sign_for_themselves_are_refused(mesh: Mesh) -> None:
    one, two = mesh.strangers[:2]
    lies = [(liar, certificate_of([liar], [liar], LIE, 7)) for liar in (one, two)]
    assert await mesh.attack(lies) == (address_of(HONEST), 2, 2)


async def test_two_strangers_that_sign_for_each_other_are_refused(mesh: Mesh) -> None:
    pair = mesh.strangers[:2]
    lie = certificate_of(pair, pair, LIE, 1_000_000)
    assert await mesh.attack([(liar, lie) for liar in pair]) == (address_of(HONEST), 2, 2)


async def test_strangers_that_name_members_among_them_are_refused(mesh: Mesh) -> None:
    pair = mesh.strangers[:2]
    lie = certificate_of([*pair, mesh.honest[0]], pair, LIE, 2)
    assert await mesh.attack([(liar, lie) for liar in pair]) == (address_of(HONEST), 2, 2)


async def test_one_member_with_strangers_is_not_a_majority_of_members(mesh: Mesh) -> None:
    liars = [mesh.honest[0], *mesh.strangers[:2]]
    lie = certificate_of(liars, liars, LIE, 2)
    assert await mesh.attack([(liar, lie) for liar in liars]) == (address_of(HONEST), 2, 3)


async def test_a_majority_of_members_cannot_push_the_round_to_a_million(mesh: Mesh) -> None:
    liars = mesh.honest[:2]
    lie = certificate_of(liars, liars, LIE, 1_000_000)
    mesh.honest += mesh.strangers[:2]
    assert await mesh.attack([(liar, lie) for liar in liars]) == (address_of(HONEST), 2, 2)


async def test_strangers_cannot_hold_the_mesh_back_with_a_true_certificate_of_others(mesh: Mesh) -> None:
    older = certificate_of(mesh.honest, mesh.honest, vector(2.0), 2)
    newer = certificate_of(mesh.honest, mesh.honest, vector(3.0), 3)
    with mesh.server(8) as server:
        async with AsyncExitStack() as stack:
            for _ in range(5):
                await stack.enter_async_context(connected(server, count=1, **showing(older)))
            honest = await stack.enter_async_context(connected(server, mesh.honest, **showing(newer)))
            plans = await asyncio.gather(*(plan_after_upload(peer, vector(3.0)) for peer in honest))
    assert {(plan.weights, plan.round) for plan in plans} == {(address_of(vector(3.0)), 4)}


async def test_reports_on_a_group_that_no_server_formed_count_for_nothing(mesh: Mesh) -> None:
    with mesh.server(5) as server:
        async with connected(server, count=2) as liars, AsyncExitStack() as stack:
            for liar in liars:
                report = Averaged(
                    round=1_000_000,
                    group=SERVERLESS_GROUP,
                    weights=address_of(LIE),
                    survivors=[0, 1],
                    fraction=1.0,
                    seconds=0.5,
                    signature=bytes(64),
                )
                await liar.say(report)
            honest = await stack.enter_async_context(connected(server, mesh.honest))
            plans = await plans_despite(liars, honest, LIE)
    assert {(plan.weights, plan.round) for plan in plans} == {(address_of(HONEST), 2)}


async def test_members_of_an_earlier_version_cannot_certify_what_follows_a_later_one(mesh: Mesh) -> None:
    former = mesh.honest
    with mesh.server() as server:
        async with connected(server, count=3) as later:
            await make_version(later, vector(2.0))
    mesh.honest = later
    lie = certificate_of(former, former, LIE, 3)
    stale = certificate_of(former, former, LIE, 1)
    lies = [*((liar, lie) for liar in former[:2]), (former[2], stale)]
    assert await mesh.attack(lies) == (address_of(vector(2.0)), 3, 2)
