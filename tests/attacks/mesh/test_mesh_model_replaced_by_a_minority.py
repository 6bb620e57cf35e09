"""Gain: the model of a mesh for two of its members, by certificates that prove something else."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.support.attacks.mesh_peers import (
    COORDINATION,
    SERVERLESS_GROUP,
    certificate_of,
    connected,
    make_version,
    plans_despite,
    showing,
    vector,
)
from tests.support.tasks.tiny_task import write_mesh
from tests.support.web.mesh_client import MeshPeer, address_of
from tests.support.web.server_process import running

HONEST, CERTIFIED, LIE = vector(1.0), vector(2.0), vector(-9.0)
# How members reach the server: who, and the changes to their first frame.
Visits = Sequence[tuple[Sequence[MeshPeer], dict[str, Any]]]


async def five_members(tasks: Path, data: Path) -> list[MeshPeer]:
    """Lets five peers make version 1 in round 1; then their server ends."""
    write_mesh(tasks / "tiny", **COORDINATION | {"min_available_clients": 5})
    with running(tasks, data) as server:
        async with connected(server, count=5) as peers:
            await make_version(peers, HONEST)
    return peers


async def weights_after(tasks: Path, data: Path, liars: Visits, honest: Visits) -> set[tuple[str, int]]:
    """Starts the server, liars first; returns the weights and rounds that the honest peers train."""
    with running(tasks, data) as server:
        async with AsyncExitStack() as stack:
            lying, true = list[MeshPeer](), list[MeshPeer]()
            for into, visits in ((lying, liars), (true, honest)):
                for peers, changes in visits:
                    into += await stack.enter_async_context(connected(server, peers, **changes))
            plans = await plans_despite(lying, true, LIE)
    return {(plan.weights, plan.round) for plan in plans}


@pytest.mark.parametrize(
    ("number", "group", "witnesses"),
    [(8, SERVERLESS_GROUP, 0), (9, SERVERLESS_GROUP + 7, 0), (8, SERVERLESS_GROUP, 2)],
)
async def test_weights_that_nobody_signed_do_not_count_behind_a_true_certificate(
    tmp_path: Path, number: int, group: int, witnesses: int
) -> None:
    tasks, data = tmp_path / "tasks", tmp_path / "data"
    peers = await five_members(tasks, data)
    liars, honest = peers[:2], peers[2:]
    true = certificate_of(peers, peers, CERTIFIED, 9)
    # Earlier than the true one, or beside it: no group made these weights, and no signature is of them.
    lie = replace(true, round=number, group=group, weights=address_of(LIE))
    shown: Visits = [(honest[:witnesses], showing(true)), (honest[witnesses:], {})]
    found = await weights_after(tasks, data, [(liars, showing(lie) | {"chain": [true]})], shown)
    assert found == {(address_of(CERTIFIED), 10) if witnesses else (address_of(HONEST), 2)}


async def test_certificates_of_an_earlier_run_of_the_task_do_not_count(tmp_path: Path) -> None:
    tasks, data = tmp_path / "tasks", tmp_path / "data"
    peers = await five_members(tasks, tmp_path / "earlier")
    # All five made these weights without the server, in an earlier run of a task of this name and bundle.
    old = certificate_of(peers, peers, LIE, 7)
    with running(tasks, data) as server:
        async with connected(server, peers) as again:
            await make_version(again, CERTIFIED)
    found = await weights_after(tasks, data, [(peers[:2], showing(old))], [(peers[2:], {})])
    assert found == {(address_of(CERTIFIED), 2)}
