"""A server that is killed and started again at a bad moment would leave a peer in a group that never meets.

The peer began a round of the peers; the others went back to the server, which uses that number for a round of
its own. Until its group's time was over, the peer trained no more.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
import pytest

from backend.errors import GroupError
from backend.peer.mesh.early_frames import EarlyFrames
from backend.peer.mesh.exchange import Exchange
from backend.protocols.mesh.serverless.last_round import FIRST_SERVERLESS_GROUP
from backend.wire.mesh_messages import Group
from backend.wire.peer_messages import GroupFrame, OfGroup
from tests.support.peer.averaging_groups import BUNDLE, TASK, order_of
from tests.support.peer.linked_peers import Member, company, until
from tests.support.protocols.mesh.restart_schedules import play

# Schedules in which a peer was stranded, and one whose server was killed while it sent the orders of a group.
STRANDED = (36, 62, 110, 126, 144, 164, 237, 255)


@pytest.mark.parametrize("seed", STRANDED)
def test_no_peer_is_stranded_when_the_server_is_back(seed: int) -> None:
    played = play(seed)
    assert not played.stranded, "\n".join(played.told)
    assert played.versions > 0


@asynccontextmanager
async def a_group_of_two(folder: Path, group: int) -> AsyncIterator[tuple[Member, Member, Group]]:
    """Two linked peers, and the order of a group that only the first will follow."""
    async with company(folder, [("websocket",), ("websocket",)], [True, True]) as [alone, back]:
        await until(lambda: alone.links.linked() and back.links.linked())
        order = order_of([alone.own.client, back.own.client], 100, "full")
        fields = {name: getattr(order, name) for name in order.__struct_fields__}
        yield alone, back, Group(**(fields | {"group": group, "seconds": 600.0, "patience": 0.5}))


def begin(alone: Member, order: Group) -> Exchange:
    """The first peer begins to average."""
    vector = np.ones(100, np.float32)
    exchange = Exchange(order, alone.own.client, vector, 1.0, alone.links, TASK, BUNDLE)
    exchange.start()
    exchange.up(order.members[1])
    return exchange


async def told_of_its_end(alone: Member, exchange: Exchange) -> str:
    """The reason for which the first peer's group has no result, once the other one answers."""
    await until(lambda: any(isinstance(frame, OfGroup) for _, frame in alone.frames))
    for client, frame in alone.frames:
        if isinstance(frame, OfGroup):
            exchange.frame_received(client, frame)
    with pytest.raises(GroupError) as failed:
        await exchange.result()
    return str(failed.value)


async def keep_early(early: EarlyFrames[GroupFrame], member: Member) -> None:
    """Gives what came for groups without an order, at least one frame, to its keeper."""
    await until(lambda: any(isinstance(frame, OfGroup) for _, frame in member.frames))
    for client, frame in member.frames:
        if isinstance(frame, OfGroup):
            early.add(client, frame)


async def test_a_peer_that_has_the_server_leaves_nobody_waiting_in_a_group_of_the_peers(
    tmp_path: Path,
) -> None:
    async with a_group_of_two(tmp_path, FIRST_SERVERLESS_GROUP + 5) as (alone, back, order):
        early = EarlyFrames(back.links, lambda _round, group: group >= FIRST_SERVERLESS_GROUP)
        exchange = begin(alone, order)
        await keep_early(early, back)
        assert "can be reached" in await told_of_its_end(alone, exchange)


async def test_a_peer_that_gets_no_order_says_so_after_the_patience(tmp_path: Path) -> None:
    async with a_group_of_two(tmp_path, 3) as (alone, back, order):
        early = EarlyFrames(back.links, lambda _round, _group: False)
        before = {name: getattr(order, name) for name in order.__struct_fields__} | {"round": 1}
        early.join(Group(**before))
        exchange = begin(alone, order)
        await keep_early(early, back)
        assert "can be reached" in await told_of_its_end(alone, exchange)


async def test_a_peer_whose_order_comes_late_is_waited_for(tmp_path: Path) -> None:
    async with a_group_of_two(tmp_path, 3) as (alone, back, order):
        early = EarlyFrames(back.links, lambda _round, _group: False)
        begin(alone, order)
        await keep_early(early, back)
        early.join(order)
        end = time.monotonic() + 2 * order.patience
        await until(lambda: time.monotonic() >= end)
        assert not any(isinstance(frame, OfGroup) for _, frame in alone.frames)
        assert early.take((order.round, order.group))
