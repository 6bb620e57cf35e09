"""Peers link by WebSockets, sealed: frames arrive whole and in order, and strangers are turned away."""

from __future__ import annotations

import asyncio
import hashlib
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from backend.errors import LinkError
from backend.peer.links import peer_links
from backend.peer.links.links import LinkManager
from backend.peer.links.sealed_ends import Handshake
from backend.peer.links.websocket import PROTOCOL
from backend.wire.mesh_codec import encode_mesh
from backend.wire.peer_messages import Fetch, Passed, Weights
from backend.wire.signals import SealKey
from tests.contract.vectors.secagg.make_masked import made
from tests.support.environment.tcp_forwarder import Forwarder, forwarding
from tests.support.peer.linked_peers import Carrier, Member, company, introduce, make_member, until
from tests.support.timeouts import PATIENCE

HASH = "ab" * 32


def are_linked(*members: Member) -> bool:
    return all(len(member.links.linked()) == len(members) - 1 for member in members)


@pytest.mark.parametrize("listening", [(True, True), (True, False), (False, True)])
async def test_two_link_if_either_can_be_reached(tmp_path: Path, listening: tuple[bool, bool]) -> None:
    async with company(tmp_path, [("websocket",), ("websocket",)], listening) as (one, other):
        await until(lambda: are_linked(one, other))
        assert one.log == [("up", other.own.client, "websocket")]
        assert other.log == [("up", one.own.client, "websocket")]


async def test_a_vector_arrives_whole_and_control_frames_overtake_it(tmp_path: Path) -> None:
    async with company(tmp_path, [("websocket",)] * 2, [True, False]) as (one, other):
        await until(lambda: are_linked(one, other))
        there, vector = other.own.client, made("vector") * 500_000
        room = one.links.room(there)
        for at in range(0, len(vector), room):
            data = memoryview(vector)[at : at + room]
            frame = Weights(weights=HASH, size=len(vector), offset=at, data=data)
            one.links.send(there, frame, bulk=True)
        last = Fetch(weights=HASH, offset=0)
        one.links.send(there, last)
        assert one.links.buffered(there) > len(vector)
        await one.links.drained(there, 1)
        assert one.links.buffered(there) == 0
        await until(lambda: len(other.frames) > len(vector) // room + 1)
        frames = [frame for _, frame in other.frames]
        assert frames.index(last) < len(frames) - 1
        chunks = [frame for frame in frames if isinstance(frame, Weights)]
        assert [chunk.offset for chunk in chunks] == list(range(0, len(vector), room))
        assert b"".join(chunk.data for chunk in chunks) == vector


async def test_a_frame_that_is_too_long_is_the_callers_error(tmp_path: Path) -> None:
    async with company(tmp_path, [("websocket",)] * 2, [True, False]) as (one, other):
        await until(lambda: are_linked(one, other))
        with pytest.raises(LinkError, match="does not fit"):
            one.links.send(other.own.client, bytes(300_000))


async def test_what_is_for_nobody_is_lost(tmp_path: Path) -> None:
    async with company(tmp_path, [("websocket",)], [False]) as (alone,):
        alone.links.send("f" * 16, Fetch(weights=HASH, offset=0))
        assert (alone.links.room("f" * 16), alone.links.buffered("f" * 16)) == (0, 0)
        await alone.links.drained("f" * 16, 0)


async def test_both_learn_how_long_a_frame_takes_and_how_fast_they_send(tmp_path: Path) -> None:
    async with company(tmp_path, [("websocket",)] * 2, [True, False]) as (one, other):
        await until(lambda: are_linked(one, other))
        for member in (one, other):
            member.links.set_group_patience(2.0)
        there = other.own.client

        def measured() -> bool:
            return all(each.seconds > 0 and each.rate > 0 for each in one.links.measures())

        # A rate needs a link that has work for a while; one that broke on a busy machine is made again.
        while not (are_linked(one, other) and measured()):
            if are_linked(one, other):
                for _ in range(100):
                    one.links.send(there, encode_mesh(_chunk(200_000)), bulk=True)
                await one.links.drained(there, 1)
            await asyncio.sleep(0.05)
        measure = one.links.measures()[0]
        assert (measure.client, measure.way) == (there, "websocket")
        await until(lambda: other.links.measures()[0].seconds > 0)
        assert other.links.measures()[0].rate == 0


async def test_a_link_that_broke_is_made_again(tmp_path: Path) -> None:
    async with company(tmp_path, [("websocket",)] * 2, [True, False]) as (one, other):
        await until(lambda: are_linked(one, other))
        other.links.drop(one.own.client, "a test cuts it")
        await until(lambda: one.log.count(("up", other.own.client, "websocket")) == 2)
        await until(lambda: are_linked(one, other))
        assert [entry[0] for entry in one.log] == ["up", "down", "up"]
        assert other.log[1] == ("down", one.own.client, "a test cuts it")


async def test_a_peer_that_came_back_takes_its_place_in_the_link(tmp_path: Path) -> None:
    carrier = Carrier()
    async with company(tmp_path, [("websocket",)] * 2, [True, False], carrier) as (one, other):
        await until(lambda: are_linked(one, other))
        again = await make_member(tmp_path, 1, ("websocket",), False, carrier)
        await other.links.close()
        introduce(again, [one, again])
        await until(lambda: are_linked(one, again))
        await until(lambda: [entry[0] for entry in one.log] == ["up", "down", "up"])
        await again.links.close()


async def test_silence_is_told_once_and_ends_when_something_comes(tmp_path: Path) -> None:
    async with company(tmp_path, [("websocket",)] * 2, [True, False]) as (one, other):
        await until(lambda: are_linked(one, other))
        # `one` expects a beat every quarter of 0.4 s; `other` beats every two seconds.
        one.links.set_group_patience(0.4)
        await until(lambda: ("silent", other.own.client) in one.log)
        # The next group hears of it, too.
        one.log.clear()
        one.links.set_group_patience(1.0)
        await until(lambda: ("silent", other.own.client) in one.log)
        other.links.set_group_patience(0.4)
        # Heard again, it is up again, which tells a group that it may count on it.
        await until(lambda: one.log[-1] == ("up", other.own.client, "websocket"))
        assert are_linked(one, other)
        assert not any(entry[0] == "down" for entry in one.log)
        # What comes after that is nothing new, while nobody is impatient.
        one.links.set_group_patience(PATIENCE)
        heard = len(one.log)
        await asyncio.sleep(1.0)
        assert len(one.log) == heard


async def test_what_goes_over_the_wire_is_sealed(tmp_path: Path) -> None:
    """All that passes is heard by somebody in between: nothing of a frame is in it."""
    heard: list[bytes] = []
    async with company(tmp_path, [("websocket",)] * 2, [True, False]) as (one, other):
        await until(lambda: are_linked(one, other))
        async with _listen_in(one, heard) as between:
            seen = msgspec.structs.replace(one.neighbour, address=between.url.replace("http:", "ws:"))
            other.links.drop(one.own.client, "another way")
            other.links.set_neighbours([seen])
            await until(lambda: are_linked(one, other) and heard)
            words = b"a sentence that nobody else should read" * 30
            frame = Weights(weights=HASH, size=len(words), offset=0, data=memoryview(words))
            one.links.send(other.own.client, frame)
            await until(lambda: other.frames)
            wire = b"".join(heard)
            assert len(wire) > len(words)
            assert b"nobody else" not in wire
            assert HASH.encode() not in wire


async def test_a_link_that_a_cut_line_stalled_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What goes on over the old connection is never carried; a new one is."""
    monkeypatch.setattr(peer_links, "STALLED_SECONDS", 0.5)
    async with company(tmp_path, [("websocket",)] * 2, [True, False]) as (one, other):
        await until(lambda: are_linked(one, other))
        heard: list[bytes] = []
        stalled = asyncio.Event()
        async with _listen_in(one, heard, stalled) as between:
            seen = msgspec.structs.replace(one.neighbour, address=between.url.replace("http:", "ws:"))
            other.links.drop(one.own.client, "another way")
            other.links.set_neighbours([seen])
            await until(lambda: are_linked(one, other) and heard)
            for member in (one, other):
                member.links.set_group_patience(1.0)
            monkeypatch.setattr(peer_links, "GLARE_SECONDS", 0.0)
            stalled.set()
            ups = len(one.log)
            await until(
                lambda: ("down", other.own.client, "the other peer started a new link") in one.log[ups:]
            )
            await until(lambda: are_linked(one, other))
            other.links.send(one.own.client, Fetch(weights=HASH, offset=3))
            await until(lambda: one.frames)


def _listen_in(
    member: Member, heard: list[bytes], stalled: asyncio.Event | None = None
) -> AbstractAsyncContextManager[Forwarder]:
    """Carries what goes to `member`, until `stalled`, from when on only later connections are carried."""

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        began_stalled = stalled is not None and stalled.is_set()
        while data := await reader.read(65536):
            if stalled is not None and stalled.is_set() and not began_stalled:
                continue
            heard.append(data)
            writer.write(data)
            await writer.drain()

    return forwarding(member.own.address or "", carry, carry)


async def test_who_signs_with_another_identity_gets_no_link(tmp_path: Path) -> None:
    carrier = Carrier()
    async with company(tmp_path, [("websocket",)] * 2, [True, False], carrier) as (one, other):
        await until(lambda: are_linked(one, other))
        await other.links.close()
        await until(lambda: not one.links.linked())
        eve = await make_member(tmp_path / "eve", 1, ("websocket",), False, carrier)
        eve.links.local = replace(eve.own, key=made("another key"))
        introduce(eve, [one, eve])
        await asyncio.sleep(1.0)
        assert not one.links.linked()
        assert not eve.links.linked()
        # The server, too, cannot give her another's place.
        one.links.set_neighbours([eve.neighbour])
        assert ("refused", eve.own.client) == one.log[-1][:2]
        await eve.links.close()


async def test_a_recorded_greeting_makes_no_link(tmp_path: Path) -> None:
    async with company(tmp_path, [("websocket",)] * 2, [True, True]) as (one, other):
        await until(lambda: are_linked(one, other))
        links: LinkManager = other.links
        note = links.sign_signal(one.own.client, bytes(16), _seal_key())
        ups = len(one.log)
        async with connect(one.own.address or "", proxy=None, subprotocols=[PROTOCOL]) as socket:
            await socket.send(encode_mesh(Passed(client=other.own.client, data=note)))
            await socket.recv()
            # Who has no private key cannot seal the first frame.
            await socket.send(bytes(40))
            with pytest.raises(ConnectionClosed):
                await _read_for_ever(socket)
        assert len(one.log) == ups
        assert are_linked(one, other)


@pytest.mark.parametrize("greeting", [b"", b"garbage", encode_mesh(Fetch(weights=HASH, offset=0))])
async def test_garbage_for_a_greeting_is_answered_by_an_end(tmp_path: Path, greeting: bytes) -> None:
    async with company(tmp_path, [("websocket",)], [True]) as (one,):
        async with connect(one.own.address or "", proxy=None, subprotocols=[PROTOCOL]) as socket:
            await socket.send(greeting)
            with pytest.raises(ConnectionClosed):
                await socket.recv()
        assert one.log == []


async def test_a_taken_port_is_told_in_a_sentence(tmp_path: Path) -> None:
    async with company(tmp_path, [("websocket",)], [True]) as (one,):
        port = int((one.own.address or "").rpartition(":")[2])
        another = await make_member(tmp_path, 1, ("websocket",), False, Carrier())
        with pytest.raises(LinkError, match="Choose another port"):
            await another.links.open("127.0.0.1", port)
        await another.links.close()


def _chunk(size: int) -> Weights:
    data = memoryview(hashlib.sha256(b"chunk").digest() * (size // 32))
    return Weights(weights=HASH, size=size, offset=0, data=data)


async def _read_for_ever(socket: ClientConnection) -> None:
    while True:
        await socket.recv()


def _seal_key() -> SealKey:
    return Handshake().signal
