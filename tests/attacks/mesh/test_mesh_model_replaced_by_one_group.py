"""Gain: the model of a mesh of several groups, by the members of one of them, after its server was away."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

from backend.wire.mesh_messages import Group
from backend.wire.messages import Train
from tests.support.attacks.mesh_peers import (
    bring,
    certificate_of,
    connected,
    plan_after_upload,
    plans_despite,
    showing,
    vector,
)
from tests.support.tasks.tiny_task import write_mesh
from tests.support.web.mesh_client import MeshPeer, address_of
from tests.support.web.server_process import running

PAIRS = {
    "averaging": '{ groups = "random", group_size = 2, patience = 0.5 }',
    "min_available_clients": 6,
    "deadline": 20,
}
HONEST, CERTIFIED, LIE = vector(1.0), vector(2.0), vector(-9.0)


async def three_pairs(folder: Path) -> list[list[MeshPeer]]:
    """Lets six peers make version 1 in three groups; returns the members of each. Then their server ends."""
    write_mesh(folder / "tasks" / "tiny", **PAIRS)
    with running(folder / "tasks", folder / "data") as server:
        async with connected(server, count=6) as peers:
            for peer in peers:
                await peer.trained(await peer.next(Train))
            orders = {peer.id: await peer.next(Group) for peer in peers}
            for peer in peers:
                await peer.averaged(orders[peer.id], HONEST, range(2))
            await bring(peers, HONEST)
    numbers = sorted({order.group for order in orders.values()})
    return [[peer for peer in peers if orders[peer.id].group == number] for number in numbers]


async def test_one_group_of_three_replaces_nothing(tmp_path: Path) -> None:
    liars, *others = await three_pairs(tmp_path)
    lie = certificate_of(liars, liars, LIE, 5)
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        async with AsyncExitStack() as stack:
            lying = await stack.enter_async_context(connected(server, liars, **showing(lie)))
            honest = [peer for pair in others for peer in pair]
            true = await stack.enter_async_context(connected(server, honest))
            plans = await plans_despite(lying, true, LIE)
    assert {(plan.weights, plan.round) for plan in plans} == {(address_of(HONEST), 2)}


async def test_groups_of_more_than_half_of_the_members_are_believed(tmp_path: Path) -> None:
    first, second, third = await three_pairs(tmp_path)
    shown = certificate_of(first, first, CERTIFIED, 5), certificate_of(second, second, vector(3.0), 5)
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        async with AsyncExitStack() as stack:
            back: list[MeshPeer] = []
            for pair, certificate in zip((first, second), shown, strict=True):
                back += await stack.enter_async_context(connected(server, pair, **showing(certificate)))
            await stack.enter_async_context(connected(server, third))
            plan = await plan_after_upload(back[0], CERTIFIED)
    # Each group goes on from its own result.
    assert (plan.weights, plan.round) == (address_of(CERTIFIED), 6)
