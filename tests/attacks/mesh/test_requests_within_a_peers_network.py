"""A stranger in a mesh has other peers connect to services of their own networks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from backend.errors import FrameError
from backend.peer.links.interfaces import PeerLink
from backend.peer.links.links import LinkManager
from backend.wire.codec import encode
from backend.wire.mesh_codec import decode_to_peer
from backend.wire.mesh_fields import Way
from backend.wire.mesh_messages import Members
from tests.support.peer.linked_peers import Carrier, Member, make_member, until


class Service:
    """A service of the victim's machine that strangers cannot reach; `requests` are what it got."""

    def __init__(self, answer: bytes = b"") -> None:
        self.requests: list[bytes] = []
        self.port = 0
        self._answer = answer

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Service]:
        """Listens at a port of loopback."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        async with server:
            yield self

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.requests.append(await reader.readline())
        writer.write(self._answer)
        writer.close()


async def stranger_named(member: Member, address: str, carrier: Carrier, folder: Path) -> None:
    """Has `member` learn of a peer that names this address, and want a link to it."""
    stranger = await make_member(folder, 1, ("websocket",), False, carrier)
    member.links.set_neighbours([replace(stranger.neighbour, address=address)])
    member.links.set_targets([stranger.own.client])
    await stranger.links.close()


class WatchedLinks(LinkManager):
    """Links that record why attempts fail."""

    ended: list[str]

    def link_ended(self, client: str, way: Way, link: PeerLink | None, reason: str) -> None:
        self.ended.append(reason)
        super().link_ended(client, way, link, reason)


async def victim_of(folder: Path, carrier: Carrier) -> Member:
    """Returns a peer as `minga peer join https://...` makes it."""
    member = await make_member(folder, 0, ("websocket",), False, carrier)
    await member.links.close()
    member.links = WatchedLinks(member.own, carrier.for_client(member.own.client), member, member.known)
    member.links.ended = []
    await member.links.open()
    return member


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.1", "0", "[::ffff:127.0.0.1]"])
async def test_a_peer_connects_to_no_service_of_its_own_machine(tmp_path: Path, host: str) -> None:
    carrier = Carrier()
    async with Service().running() as service:
        victim = await victim_of(tmp_path, carrier)
        await stranger_named(victim, f"ws://{host}:{service.port}", carrier, tmp_path)
        await asyncio.sleep(0.6)
        await victim.links.close()
    assert service.requests == []


async def test_a_peer_follows_no_redirect_of_another(tmp_path: Path) -> None:
    carrier = Carrier()
    async with Service().running() as service:
        answer = f"HTTP/1.1 307 Moved\r\nLocation: ws://127.0.0.1:{service.port}/admin?delete=all\r\n\r\n"
        async with Service(answer.encode()).running() as strangers:
            # This peer may connect to loopback, where the stranger is.
            victim = await make_member(tmp_path, 0, ("websocket",), False, carrier)
            await stranger_named(victim, f"ws://127.0.0.1:{strangers.port}", carrier, tmp_path)
            await until(lambda: strangers.requests)
            await asyncio.sleep(0.3)
            await victim.links.close()
    assert service.requests == []


@pytest.mark.parametrize("path", ["/admin?delete=all", "?a", "/a", "@127.0.0.1"])
async def test_a_stranger_names_no_path(tmp_path: Path, path: str) -> None:
    member = await make_member(tmp_path, 0, ("websocket",), False, Carrier())
    named = replace(member.neighbour, address=f"ws://192.0.2.7:80{path}")
    with pytest.raises(FrameError):
        decode_to_peer(encode(Members(epoch=1, members=[named])))
    await member.links.close()


@pytest.mark.parametrize(
    "address", ["ws://[::::]:1", "ws://a..b:1", "ws://example.org:99999", f"ws://{'a' * 80}:1"]
)
async def test_an_address_that_is_none_is_a_failed_attempt(tmp_path: Path, address: str) -> None:
    carrier = Carrier()
    victim = await victim_of(tmp_path, carrier)
    assert isinstance(victim.links, WatchedLinks)
    ended = victim.links.ended
    await stranger_named(victim, address, carrier, tmp_path)
    await until(lambda: ended, 5.0)
    await victim.links.close()
