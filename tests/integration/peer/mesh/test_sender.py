"""Pieces go to all members in turn, over real connections, and nobody holds the others up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

import numpy as np

from backend.peer.mesh.sender import Sender, piece_of
from backend.wire.mesh_codec import encode_mesh
from backend.wire.peer_messages import PeerFrame
from tests.support.peer.averaging_groups import order_of
from tests.support.peer.linked_peers import until

MEMBERS = [f"{place:02x}" * 8 for place in range(5)]
OWN = MEMBERS[2]
SIZE = 8 << 20
ROOM = 1 << 18


class Wires:
    """Connections on loopback to all others; those of `deaf` read nothing."""

    def __init__(self, deaf: Sequence[str]) -> None:
        self.deaf = deaf
        self.writers: dict[str, asyncio.StreamWriter] = {}
        self.heard: dict[str, int] = dict.fromkeys(MEMBERS, 0)
        self.order: list[str] = []
        self.ends: list[asyncio.StreamWriter] = []
        self.servers: list[asyncio.Server] = []

    def send(self, client: str, frame: PeerFrame | bytes, bulk: bool = False) -> None:
        assert bulk
        self.order.append(client)
        self.writers[client].write(frame if isinstance(frame, bytes) else encode_mesh(frame))

    def room(self, client: str) -> int:
        return ROOM if client in self.writers else 0

    async def drained(self, client: str, below: int) -> None:
        if client in self.writers:
            self.writers[client].transport.set_write_buffer_limits(high=below)
            with suppress(ConnectionError):
                await self.writers[client].drain()

    async def take(self, client: str) -> None:
        """Connects to a listener that counts bytes, or does not read."""

        async def read(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.ends.append(writer)
            while client not in self.deaf and (data := await reader.read(1 << 16)):
                self.heard[client] += len(data)

        server = await asyncio.start_server(read, "127.0.0.1")
        self.servers.append(server)
        port = server.sockets[0].getsockname()[1]
        _, self.writers[client] = await asyncio.open_connection("127.0.0.1", port)
        self.ends.append(self.writers[client])


@asynccontextmanager
async def wires(deaf: Sequence[str] = ()) -> AsyncIterator[tuple[Wires, Sender]]:
    made = Wires(deaf)
    for client in MEMBERS:
        if client != OWN:
            await made.take(client)
    departing = Sender(made, MEMBERS, OWN)
    try:
        yield made, departing
    finally:
        departing.close()
        for server in made.servers:
            server.close()
        for end in made.ends:
            end.transport.abort()
        await asyncio.sleep(0)  # The loop closes what was aborted.


def send_to_all(departing: Sender) -> None:
    order = order_of(MEMBERS, 1000)
    for place, client in enumerate(MEMBERS):
        if client != OWN:
            departing.add(client, piece_of(order, place, []), np.zeros(SIZE, np.uint8))


async def reached(made: Wires, clients: Sequence[str]) -> None:
    await until(lambda: all(made.heard[client] >= SIZE for client in clients))


async def test_turns_begin_with_the_next_member_and_go_round() -> None:
    async with wires() as (made, departing):
        send_to_all(departing)
        await reached(made, [client for client in MEMBERS if client != OWN])
        assert list(dict.fromkeys(made.order)) == [MEMBERS[3], MEMBERS[4], MEMBERS[0], MEMBERS[1]]


async def test_members_that_take_nothing_do_not_hold_the_others_up() -> None:
    deaf = [MEMBERS[3], MEMBERS[4]]
    async with wires(deaf) as (made, departing):
        send_to_all(departing)
        await reached(made, [MEMBERS[0], MEMBERS[1]])
        assert not any(made.heard[client] for client in deaf)


async def test_what_is_cleared_is_not_sent() -> None:
    async with wires() as (made, departing):
        send_to_all(departing)
        departing.clear(MEMBERS[0])
        await reached(made, [MEMBERS[1], MEMBERS[3], MEMBERS[4]])
        assert made.heard[MEMBERS[0]] == 0


async def test_without_a_link_what_waits_is_dropped_and_the_others_go_on() -> None:
    async with wires() as (made, departing):
        del made.writers[MEMBERS[3]]
        send_to_all(departing)
        await reached(made, [MEMBERS[0], MEMBERS[1], MEMBERS[4]])
        assert made.heard[MEMBERS[3]] == 0
