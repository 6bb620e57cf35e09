"""Peers link by WebRTC, with aiortc's real ICE, DTLS and SCTP."""

from __future__ import annotations

import asyncio
import secrets
from pathlib import Path

import pytest

from backend.peer.links.webrtc import WebRtc
from backend.protocols.mesh import link_selection
from backend.wire.mesh_fields import Way
from backend.wire.mesh_messages import IceServer
from backend.wire.peer_messages import Fetch, Weights
from backend.wire.signals import Candidate, Description
from tests.contract.vectors.secagg.make_masked import made
from tests.support.peer.linked_peers import Carrier, Member, company, introduce, make_member, until

HASH = "cd" * 32
RTC: tuple[Way, ...] = ("webrtc",)


def open_sockets() -> set[str]:
    """Returns the sockets that this process holds, also those that nothing refers to any more."""
    links = (entry.readlink() for entry in Path("/proc/self/fd").iterdir() if entry.is_symlink())
    return {str(link) for link in links if str(link).startswith("socket:")}


def are_linked(*members: Member) -> bool:
    return all(len(member.links.linked()) == len(members) - 1 for member in members)


async def test_two_link_and_send_both_ways(tmp_path: Path) -> None:
    async with company(tmp_path, [RTC, RTC], [False, False]) as (one, other):
        await until(lambda: are_linked(one, other))
        assert one.log == [("up", other.own.client, "webrtc")]
        vector = made("vector") * 20_000
        for member, there in ((one, other.own.client), (other, one.own.client)):
            assert member.links.room(there) == 16_128
            for at in range(0, len(vector), 16_128):
                data = memoryview(vector)[at : at + 16_128]
                frame = Weights(weights=HASH, size=len(vector), offset=at, data=data)
                member.links.send(there, frame, bulk=True)
            member.links.send(there, Fetch(weights=HASH, offset=0))
        await one.links.drained(other.own.client, 1)
        await until(lambda: all(len(member.frames) == 41 for member in (one, other)))
        for member in (one, other):
            frames = [frame for _, frame in member.frames]
            chunks = [frame for frame in frames if isinstance(frame, Weights)]
            assert b"".join(chunk.data for chunk in chunks) == vector
            # The control channel does not wait for all of it.
            assert isinstance(frames[-1], Weights)


async def test_the_last_words_of_a_peer_that_leaves_arrive(tmp_path: Path) -> None:
    async with company(tmp_path, [RTC, RTC], [False, False]) as (one, other):
        await until(lambda: are_linked(one, other))
        vector = made("vector") * 10_000
        for at in range(0, len(vector), 16_128):
            data = memoryview(vector)[at : at + 16_128]
            one.links.send(
                other.own.client, Weights(weights=HASH, size=len(vector), offset=at, data=data), True
            )
        await one.links.close()
        await until(lambda: other.log[-1][0] == "down")
        assert b"".join(frame.data for _, frame in other.frames if isinstance(frame, Weights)) == vector


async def test_signals_go_through_a_peer_when_the_server_is_away(tmp_path: Path) -> None:
    carrier = Carrier()
    async with company(tmp_path, [RTC] * 2, [False] * 2, carrier) as (one, other):
        await until(lambda: are_linked(one, other))
        newcomer = await make_member(tmp_path, 2, RTC, False, carrier)
        introduce(newcomer, [one, newcomer])
        introduce(one, [one, other, newcomer])
        await until(lambda: one.links.way(newcomer.own.client) is not None)
        carrier.is_away = True
        introduce(newcomer, [one, other, newcomer])
        introduce(other, [one, other, newcomer])
        await until(lambda: are_linked(one, other, newcomer))
        await newcomer.links.close()


async def test_signals_go_through_a_peer_when_the_server_cannot_reach_the_other(tmp_path: Path) -> None:
    carrier = Carrier()
    async with company(tmp_path, [RTC] * 3, [False] * 3, carrier) as members:
        one, other, _ = members
        await until(lambda: are_linked(*members))
        carrier.unreachable = {one.own.client, other.own.client}
        one.links.drop(other.own.client, "a test cuts it")
        await until(lambda: ("down", one.own.client, "the other ended it") in other.log)
        await until(lambda: are_linked(*members))


async def test_both_begin_at_once_and_have_one_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_selection, "COURTESY", 0.0)
    monkeypatch.setattr(link_selection, "COURTESY_AFTER_LOSS", 0.0)
    carrier = Carrier()
    async with company(tmp_path, [RTC] * 2, [False] * 2, carrier) as (one, other):
        await until(lambda: are_linked(one, other))
        for _ in range(3):
            ups = len(one.log), len(other.log)
            one.links.drop(other.own.client, "a test cuts it")
            other.links.drop(one.own.client, "a test cuts it")
            await until(lambda: are_linked(one, other))
            await asyncio.sleep(0.5)
            assert are_linked(one, other)
            assert (one.log[ups[0] :][-1][0], other.log[ups[1] :][-1][0]) == ("up", "up")


async def test_who_has_left_answers_no_offer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_selection, "COURTESY", 0.0)
    monkeypatch.setattr(link_selection, "COURTESY_AFTER_LOSS", 0.0)
    carrier = Carrier()
    async with company(tmp_path, [RTC] * 2, [False] * 2, carrier) as (one, other):
        await until(lambda: are_linked(one, other))
        await one.links.close()
        said = len(carrier.notes)
        introduce(other, [one, other])
        await until(lambda: len(carrier.notes) > said)
        await asyncio.sleep(0.5)
        assert {sender for sender, _, _ in carrier.notes[said:]} == {other.own.client}


async def test_an_attempt_that_ends_at_any_moment_leaves_no_socket_open(tmp_path: Path) -> None:
    carrier = Carrier()
    one = await make_member(tmp_path, 0, RTC, False, carrier)
    other = await make_member(tmp_path, 1, RTC, False, carrier)
    one.links.set_neighbours([other.neighbour])
    before = open_sockets()
    for moment in range(20):
        maker = WebRtc(one.links)
        maker.begin(other.neighbour)
        for _ in range(moment):
            await asyncio.sleep(0)
        await maker.close()
        assert open_sockets() == before
    await one.links.close()
    await other.links.close()


async def test_signals_of_an_attempt_that_is_over_begin_no_other(tmp_path: Path) -> None:
    carrier = Carrier()
    async with company(tmp_path, [RTC] * 2, [False] * 2, carrier) as (one, other):
        await until(lambda: are_linked(one, other))
        old = list(carrier.notes)
        one.links.drop(other.own.client, "a test cuts it")
        await until(lambda: ("down", one.own.client, "the other ended it") in other.log)
        await until(lambda: are_linked(one, other))
        said = len(carrier.notes)
        for sender, client, data in old:
            carrier.company[client].links.signalled(sender, data)
        await asyncio.sleep(0.5)
        assert len(carrier.notes) == said
        assert are_linked(one, other)


@pytest.mark.parametrize(
    "body",
    [
        Description(type="offer", sdp="garbage"),
        Description(type="offer", sdp="v=0\r\nm=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\n"),
        Description(type="answer", sdp=""),
        Candidate(candidate="candidate:what", sdp_mid="0", sdp_m_line_index=0),
        Candidate(),
    ],
)
async def test_a_signal_that_makes_no_sense_leaves_links_as_they_are(
    tmp_path: Path, body: Description | Candidate
) -> None:
    async with company(tmp_path, [RTC] * 2, [False] * 2) as (one, other):
        await until(lambda: are_linked(one, other))
        other.links.signal(one.own.client, secrets.token_bytes(16), body)
        await asyncio.sleep(0.3)
        assert are_linked(one, other)
        other.links.send(one.own.client, Fetch(weights=HASH, offset=7))
        await until(lambda: one.frames)


async def test_a_server_cannot_change_a_description(tmp_path: Path) -> None:
    """It could put its own fingerprint there and sit in the middle, were signals not signed."""

    class Meddler(Carrier):
        changed = 0

        def meddle(self, data: bytes) -> bytes:
            # The line means nothing: only the signature tells.
            self.changed += b"s=-" in data
            return data.replace(b"s=-", b"s=+")

    carrier = Meddler()
    async with company(tmp_path, [RTC] * 2, [False] * 2, carrier) as (one, other):
        await until(lambda: carrier.changed)
        await asyncio.sleep(1.5)
        assert not one.links.linked()
        assert not other.links.linked()


async def test_an_ice_server_that_cannot_be_used_is_no_link(tmp_path: Path) -> None:
    carrier = Carrier()
    one = await make_member(tmp_path, 0, RTC, False, carrier)
    other = await make_member(tmp_path, 1, RTC, False, carrier)
    one.links.use_ice([IceServer(urls=["http://nonsense"], username="", credential="")])
    introduce(one, [one, other])
    await asyncio.sleep(0.5)
    assert not one.links.linked()
    one.links.use_ice([])
    introduce(other, [one, other])
    await until(lambda: are_linked(one, other))
    await one.links.close()
    await other.links.close()
