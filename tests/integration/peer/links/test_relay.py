"""Where nothing else comes about the server carries frames, sealed; and gives way to whatever is better."""

from __future__ import annotations

import asyncio
import secrets
from pathlib import Path

import pytest

from backend.protocols.mesh import link_selection
from backend.wire.mesh_fields import Way
from backend.wire.peer_messages import Fetch, Weights
from tests.contract.vectors.secagg.make_masked import made
from tests.support.peer.linked_peers import Carrier, Member, company, introduce, make_member, until

HASH = "ef" * 32
BOTH: tuple[Way, ...] = ("webrtc", "relay")
RELAY: tuple[Way, ...] = ("relay",)


def are_linked(*members: Member) -> bool:
    return all(len(member.links.linked()) == len(members) - 1 for member in members)


async def test_two_link_through_the_server_which_reads_nothing(tmp_path: Path) -> None:
    carrier = Carrier()
    async with company(tmp_path, [RELAY] * 2, [False] * 2, carrier) as (one, other):
        await until(lambda: are_linked(one, other))
        there, vector = other.own.client, made("vector") * 20_000
        room = one.links.room(there)
        assert room == 65_264
        for at in range(0, len(vector), room):
            data = memoryview(vector)[at : at + room]
            one.links.send(there, Weights(weights=HASH, size=len(vector), offset=at, data=data), True)
        await until(lambda: len(other.frames) == -(-len(vector) // room))
        chunks = [frame for _, frame in other.frames if isinstance(frame, Weights)]
        assert b"".join(chunk.data for chunk in chunks) == vector
        assert carrier.relayed > len(vector)
        assert made("vector") not in b"".join(carrier.seen)


@pytest.mark.parametrize("lost", [1, 2])
async def test_a_frame_that_the_server_loses_or_changes_ends_the_link_and_a_new_one_is_made(
    tmp_path: Path, lost: int
) -> None:
    carrier = Carrier()
    async with company(tmp_path, [RELAY] * 2, [False] * 2, carrier) as (one, other):
        await until(lambda: are_linked(one, other))
        if lost == 1:
            carrier.losing = 1
            one.links.send(other.own.client, Fetch(weights=HASH, offset=0))
        else:
            other.links.relayed(one.own.client, secrets.token_bytes(100))
        one.links.send(other.own.client, Fetch(weights=HASH, offset=1))
        await until(lambda: any(entry[0] == "down" for entry in other.log))
        await until(lambda: are_linked(one, other) and other.log[-1][0] == "up")
        assert not any(isinstance(f, Fetch) and f.offset == 1 and lost == 1 for _, f in other.frames)
        one.links.send(other.own.client, Fetch(weights=HASH, offset=2))
        await until(lambda: other.frames and other.frames[-1][1] == Fetch(weights=HASH, offset=2))


async def test_the_server_that_goes_away_takes_the_links_with_it(tmp_path: Path) -> None:
    carrier = Carrier()
    async with company(tmp_path, [RELAY] * 2, [False] * 2, carrier) as (one, other):
        await until(lambda: are_linked(one, other))
        carrier.is_away = True
        for member in (one, other):
            member.links.server_away()
            assert member.log[-1][0] == "down"
        await asyncio.sleep(0.5)
        carrier.is_away = False
        await until(lambda: are_linked(one, other))


async def test_who_is_unreachable_has_no_link(tmp_path: Path) -> None:
    carrier = Carrier()
    async with company(tmp_path, [RELAY] * 2, [False] * 2, carrier) as (one, other):
        await until(lambda: are_linked(one, other))
        carrier.unreachable = {other.own.client}
        one.links.send(other.own.client, Fetch(weights=HASH, offset=0))
        await until(lambda: one.log[-1] == ("down", other.own.client, "the server cannot reach it"))
        carrier.unreachable = set()
        await until(lambda: are_linked(one, other))


async def test_a_signal_that_is_carried_twice_ends_nothing(tmp_path: Path) -> None:
    carrier = Carrier()
    async with company(tmp_path, [RELAY] * 2, [False] * 2, carrier) as (one, other):
        await until(lambda: are_linked(one, other))
        one.links.drop(other.own.client, "a test cuts it")
        await until(lambda: are_linked(one, other) and len(one.log) == 3)
        for sender, receiver, data in list(carrier.notes):
            carrier.company[receiver].links.signalled(sender, data)
        await asyncio.sleep(0.3)
        assert are_linked(one, other)
        one.links.send(other.own.client, Fetch(weights=HASH, offset=0))
        await until(lambda: other.frames)


async def test_a_better_way_takes_over_without_a_break(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not before the group is over: one end must not overtake itself."""
    monkeypatch.setattr(link_selection, "BETTER_EVERY", 0.2)
    monkeypatch.setattr(link_selection, "RELAY_AFTER", 0.0)
    carrier = Carrier()
    one = await make_member(tmp_path, 0, BOTH, False, carrier)
    other = await make_member(tmp_path, 1, BOTH, False, carrier)
    carrier.blocked = b"candidate:"
    for member in (one, other):
        introduce(member, [one, other])
        member.links.set_group_patience(5.0)
    await until(lambda: one.links.way(other.own.client) == "relay" == other.links.way(one.own.client))
    carrier.blocked = None
    await until(lambda: one.links._pairs[other.own.client].links.keys() == {"webrtc", "relay"})
    await asyncio.sleep(1.5)
    assert one.links.way(other.own.client) == "relay"
    for member in (one, other):
        member.links.set_group_patience(None)
    await until(lambda: one.links.way(other.own.client) == "webrtc" == other.links.way(one.own.client))
    assert [entry[0] for entry in one.log] == ["up", "up"]
    one.links.send(other.own.client, Fetch(weights=HASH, offset=0))
    await until(lambda: other.frames)
    await one.links.close()
    await other.links.close()
