"""What peers of a mesh made while their server was away counts, though some of them left meanwhile."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

from backend.wire.mesh_messages import Certificate, Certified
from tests.support.attacks.mesh_peers import (
    COORDINATION,
    certificate_of,
    connected,
    grouped,
    make_version,
    plan_after_upload,
    showing,
    vector,
)
from tests.support.tasks.tiny_task import write_mesh
from tests.support.web.mesh_client import MeshPeer, address_of
from tests.support.web.server_process import running


async def first_version(folder: Path, count: int) -> list[MeshPeer]:
    """Lets `count` peers make version 1 in round 1; then their server ends."""
    write_mesh(folder / "tasks" / "tiny", **COORDINATION | {"min_available_clients": count})
    with running(folder / "tasks", folder / "data") as server:
        async with connected(server, count=count) as peers:
            await make_version(peers, vector(1.0))
    return peers


async def plan_of(
    folder: Path, holders: list[MeshPeer], newest: Certificate, chain: list[Certificate]
) -> tuple[str, int]:
    """Starts the server; returns the weights and the round that the holders of `newest` train."""
    write_mesh(folder / "tasks" / "tiny", **COORDINATION | {"min_available_clients": len(holders)})
    with running(folder / "tasks", folder / "data") as server:
        async with connected(server, holders, **showing(newest), chain=chain) as back:
            plans = await asyncio.gather(*(plan_after_upload(peer, vector(3.0)) for peer in back))
    return plans[0].weights, plans[0].round


async def test_survivors_that_left_one_after_the_other_are_proven_by_a_chain(tmp_path: Path) -> None:
    peers = await first_version(tmp_path, 5)
    three, two = peers[:3], peers[:2]
    first = certificate_of(three, three, vector(2.0), 3)
    second = certificate_of(two, two, vector(3.0), 5)
    assert await plan_of(tmp_path, two, second, [first]) == (address_of(vector(3.0)), 6)
    # From now on these two are the recorded survivors.
    third = certificate_of(two, two, vector(3.0), 9)
    assert await plan_of(tmp_path, two, third, []) == (address_of(vector(3.0)), 10)


async def test_without_the_link_between_too_few_signed(tmp_path: Path) -> None:
    peers = await first_version(tmp_path, 5)
    newest = certificate_of(peers[:2], peers[:2], vector(3.0), 5)
    assert await plan_of(tmp_path, peers[:2], newest, []) == (address_of(vector(1.0)), 2)


async def test_the_first_group_of_all_can_certify_version_1(tmp_path: Path) -> None:
    write_mesh(tmp_path / "tasks" / "tiny", **COORDINATION)
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        async with connected(server, count=3) as peers:
            group = await grouped(peers)
            server.stop()
    newest = certificate_of(peers, peers[:2], vector(3.0), 1, group.group)
    assert await plan_of(tmp_path, peers, newest, []) == (address_of(vector(3.0)), 2)


async def test_once_too_few_are_left_the_server_leads_a_round_and_certificates_follow_from_that(
    tmp_path: Path,
) -> None:
    peers = await first_version(tmp_path, 3)
    write_mesh(tmp_path / "tasks" / "tiny", **COORDINATION)
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        async with AsyncExitStack() as stack:
            one = await stack.enter_async_context(connected(server, peers[:1]))
            new = await stack.enter_async_context(connected(server, count=2))
            present = [*one, *new]
            await make_version(present, vector(2.0))
    newest = certificate_of(present, present[1:], vector(3.0), 4)
    assert await plan_of(tmp_path, present, newest, []) == (address_of(vector(3.0)), 5)


async def test_a_certificate_may_come_after_its_peer_entered(tmp_path: Path) -> None:
    peers = await first_version(tmp_path, 3)
    newest = certificate_of(peers, peers, vector(3.0), 4)
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        async with connected(server, peers) as back:
            for peer in back:
                await peer.say(Certified(certificate=newest))
            # The round that began from the recorded weights gives way.
            while (plan := await plan_after_upload(back[0], vector(3.0))).round < 5:
                pass
    assert (plan.weights, plan.round) == (address_of(vector(3.0)), 5)
