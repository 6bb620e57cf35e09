"""Weights from peer to peer, over real links on loopback."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from backend.errors import PeerError
from backend.peer.mesh import weight_transfer
from backend.peer.mesh.weight_transfer import WeightSources, WeightTransfer
from backend.peer.mesh.weights import WeightCache
from backend.wire.peer_messages import Fetch, Weights
from tests.support.peer.linked_peers import Member, company, until

SIZE = 1_000_000
# Seconds: longer than a test may take.
ENDLESS = 1e6


def some_weights(seed: int) -> bytes:
    return np.random.default_rng(seed).normal(size=SIZE // 4).astype("<f4").tobytes()


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class Nowhere:
    """A server that has nothing."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def get(self, sha256: str, at_most: int = 0) -> bytes:
        del at_most
        self.asked.append(sha256)
        raise PeerError("The server has no such blob.")


class Trader:
    """A peer that asks for weights and hands them out, until it is cut."""

    def __init__(self, member: Member) -> None:
        self.member = member
        self.holdings = WeightCache()
        self.fetching = WeightTransfer(member.links, self.find, asyncio.create_task)
        # What it does when it is asked for weights.
        self.answer: Callable[[str, Fetch], None] = self.fetching.requested
        self._seen = 0

    async def find(self, sha256: str) -> bytes | None:
        """Returns what it has."""
        return self.holdings.find(sha256)

    def say(self, client: str, wanted: Fetch, data: bytes) -> None:
        """Sends one chunk, whatever is true."""
        chunk = Weights(weights=wanted.weights, size=SIZE, offset=wanted.offset, data=memoryview(data))
        self.member.links.send(client, chunk, bulk=True)

    def has(self, content: bytes) -> str:
        """Has these weights; their hash."""
        self.holdings.keep(sha256(content), content)
        return sha256(content)

    @property
    def client(self) -> str:
        return self.member.own.client

    def look(self) -> None:
        """Hands on what came since."""
        for client, frame in self.member.frames[self._seen :]:
            if isinstance(frame, Weights):
                self.fetching.chunk_received(client, frame)
            elif isinstance(frame, Fetch):
                self.answer(client, frame)
        self._seen = len(self.member.frames)


@asynccontextmanager
async def traders(folder: Path, count: int) -> AsyncIterator[list[Trader]]:
    async with company(folder, [("websocket",)] * count, [True] * count) as members:
        await until(lambda: all(len(member.links.linked()) == count - 1 for member in members))
        all_traders = [Trader(member) for member in members]

        async def look() -> None:
            while True:
                for trader in all_traders:
                    trader.look()
                await asyncio.sleep(0.001)

        looking = asyncio.create_task(look())
        try:
            yield all_traders
        finally:
            looking.cancel()


async def test_a_newcomer_gets_weights_from_a_peer_and_can_hand_them_on(tmp_path: Path) -> None:
    content = some_weights(1)
    async with traders(tmp_path, 3) as (one, two, three):
        wanted = one.has(content)
        sources = WeightSources(two.holdings, two.fetching, Nowhere(), lambda _: [one.client])
        assert await sources.get(wanted, SIZE) == content
        again = WeightSources(three.holdings, three.fetching, Nowhere(), lambda _: [two.client])
        assert await again.get(wanted, SIZE) == content


async def test_who_does_not_have_them_says_so_and_the_next_is_asked(tmp_path: Path) -> None:
    content = some_weights(2)
    async with traders(tmp_path, 3) as (one, two, three):
        three.has(content)
        got = await one.fetching.fetch(sha256(content), SIZE, [two.client, three.client])
        assert got == content


async def test_a_peer_that_goes_away_in_the_middle_is_followed_by_another_from_there(
    tmp_path: Path,
) -> None:
    content = some_weights(3)
    async with traders(tmp_path, 3) as (one, two, three):
        # It sends the beginning, and then nothing.
        two.answer = lambda client, wanted: two.say(client, wanted, content[:200_000])
        three.has(content)
        asked: list[int] = []

        def noted(client: str, wanted: Fetch) -> None:
            asked.append(wanted.offset)
            three.fetching.requested(client, wanted)

        three.answer = noted
        got = await one.fetching.fetch(sha256(content), SIZE, [two.client, three.client])
        assert got == content
        assert asked == [200_000]


async def test_who_begins_with_wrong_bytes_does_not_spoil_what_the_next_one_sends(tmp_path: Path) -> None:
    content, other = some_weights(8), some_weights(9)
    async with traders(tmp_path, 3) as (one, two, three):
        two.answer = lambda client, wanted: two.say(client, wanted, other[:200_000])
        three.has(content)
        got = await one.fetching.fetch(sha256(content), SIZE, [two.client, three.client])
        assert got == content


@pytest.mark.parametrize("data", [b"", b"again"], ids=["empty", "repeated"])
async def test_who_sends_nothing_new_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes
) -> None:
    monkeypatch.setattr(weight_transfer, "PATIENCE", 0.5)
    content = some_weights(10)
    async with traders(tmp_path, 3) as (one, two, three):
        three.has(content)
        repeating = asyncio.create_task(_repeat(lambda: two.say(one.client, asked[0], data)))
        asked: list[Fetch] = []
        two.answer = lambda _, wanted: asked.append(replace(wanted, offset=1))
        got = await one.fetching.fetch(sha256(content), SIZE, [two.client, three.client])
        repeating.cancel()
        assert got == content


async def test_who_sends_a_byte_now_and_then_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weight_transfer, "PATIENCE", 0.5)
    monkeypatch.setattr(weight_transfer, "SLOWEST", SIZE)
    content = some_weights(11)
    async with traders(tmp_path, 3) as (one, two, three):
        three.has(content)
        asked: list[Fetch] = []
        sent = 0

        def drip() -> None:
            nonlocal sent
            two.say(one.client, replace(asked[0], offset=sent), content[sent : sent + 1])
            sent += 1

        two.answer = lambda _, wanted: asked.append(wanted)
        dripping = asyncio.create_task(_repeat(drip))
        got = await one.fetching.fetch(sha256(content), SIZE, [two.client, three.client])
        dripping.cancel()
        assert got == content
        assert sent > 1


async def _repeat(action: Callable[[], None]) -> None:
    """Acts until it is cancelled, as often as keeps any link busy, once there is something to act on."""
    while True:
        await asyncio.sleep(0.05)
        with suppress(IndexError):
            action()


async def test_nobody_waits_for_a_peer_without_a_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weight_transfer, "PATIENCE", ENDLESS)
    content = some_weights(6)
    async with traders(tmp_path, 3) as (one, two, three):
        three.has(content)
        one.member.links.drop(two.client, "it is banned")
        got = await one.fetching.fetch(sha256(content), SIZE, [two.client, three.client])
        assert got == content


async def test_nobody_waits_for_a_peer_whose_link_breaks_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weight_transfer, "PATIENCE", ENDLESS)
    content = some_weights(7)
    async with traders(tmp_path, 3) as (one, two, three):
        three.has(content)
        # It sends the beginning; then the link is gone, as the links tell.
        two.answer = lambda client, wanted: two.say(client, wanted, content[:200_000])
        fetching = asyncio.create_task(one.fetching.fetch(sha256(content), SIZE, [two.client, three.client]))
        await until(lambda: any(isinstance(frame, Weights) for _, frame in one.member.frames))
        one.fetching.link_lost(two.client)
        assert await fetching == content


async def test_other_weights_than_were_asked_for_are_never_taken(tmp_path: Path) -> None:
    content, other = some_weights(4), some_weights(5)
    async with traders(tmp_path, 2) as (one, two):

        def lie(client: str, wanted: Fetch) -> None:
            for offset in (0, 250_000, 500_000, 750_000):
                two.say(client, replace(wanted, offset=offset), other[offset : offset + 250_000])

        two.answer = lie
        server = Nowhere()
        sources = WeightSources(one.holdings, one.fetching, server, lambda _: [two.client])
        with pytest.raises(PeerError, match="no such blob"):
            await sources.get(sha256(content), SIZE)
        assert server.asked == [sha256(content)]
        assert one.holdings.find(sha256(content)) is None


async def test_weights_of_another_length_than_the_bundles_are_refused_at_once(tmp_path: Path) -> None:
    content = some_weights(6)
    async with traders(tmp_path, 2) as (one, two):
        wanted = two.has(content)
        assert await one.fetching.fetch(wanted, SIZE - 4, [two.client]) is None


def test_the_weights_of_the_last_two_rounds_are_held() -> None:
    holdings = WeightCache()
    for name in ("first", "second", "third"):
        holdings.keep(name, name.encode())
    assert holdings.find("first") is None
    assert holdings.find("second") == b"second"
    holdings.keep("second", b"second")
    holdings.keep("newest", b"newest")
    assert holdings.find("third") is None
    assert holdings.find("second") == b"second"
