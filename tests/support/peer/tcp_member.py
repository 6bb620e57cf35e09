"""A member of a group for tests in other languages: `python -m tests.support.peer.tcp_member`.

It prints the port where it listens and reads a line of JSON (`own`, `connect`: the ports of others, and
`others`: their number). It prints "linked" when it is linked with all of them. Then it reads a line with the
`order` as hex digits of its frame, `weight` and `draw`, averages, and prints the result as JSON. Instead of
the `order` the line may have `events` that bring a peer to the state without a server: then it leads a round,
and averages by the order that it makes. It ends with its input. Links are plain TCP: a length (4 bytes,
little-endian), then a frame; first both ends send their ids.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
from contextlib import suppress
from typing import Any

import msgspec
import numpy as np

from backend.errors import GroupError
from backend.numerics import philox
from backend.numerics.vectors import Vector
from backend.peer.mesh.exchange import Exchange
from backend.protocols.mesh.serverless import serverless_events
from backend.protocols.mesh.serverless.rounds import ServerlessRounds
from backend.wire.mesh_codec import decode_peer, decode_to_peer, encode_mesh
from backend.wire.mesh_messages import Group, Trained
from backend.wire.messages import Train
from backend.wire.peer_messages import GroupFrame, OnwardFrame, PeerFrame

ROOM = 16 * 1024
HOST = "127.0.0.1"
# The context to which masks are bound.
TASK, BUNDLE = "digits", "ab" * 32


def drawn(draw: int, values: int) -> Vector:
    """Returns a member's vector [values]; tests/unit/webapp/client/mesh/member.ts draws the same."""
    return 2 * philox.uniform(1, draw, 0, values) - 1


class TcpLines:
    """Links by id; forwards their events to `exchange` once it is set."""

    def __init__(self) -> None:
        self.own = ""
        self.ready = asyncio.Event()
        self.exchange: Exchange | None = None
        self.others = 0
        self.linked = asyncio.Event()
        # The events of serverless rounds.
        self.said: asyncio.Queue[serverless_events.Event] = asyncio.Queue()
        self._writers: dict[str, asyncio.StreamWriter] = {}
        self._early: list[tuple[str, PeerFrame]] = []

    def begin(self, exchange: Exchange) -> None:
        """Starts the exchange with the existing links and frames."""
        self.exchange = exchange
        exchange.start()
        for client in self._writers:
            exchange.up(client)
        for client, frame in self._early:
            self._heard(client, frame)

    def send(self, client: str, frame: PeerFrame | bytes, bulk: bool = False) -> None:  # noqa: ARG002  one stream has both
        """Sends a frame; it is lost without a link."""
        data = frame if isinstance(frame, bytes) else encode_mesh(frame)
        if client in self._writers:
            self._writers[client].write(len(data).to_bytes(4, "little") + data)

    def room(self, client: str) -> int:
        """Returns the data bytes in a chunk; 0 without a link."""
        return ROOM if client in self._writers else 0

    async def drained(self, client: str, below: int) -> None:
        """Waits until fewer than `below` bytes are queued, or the link is lost."""
        if client in self._writers:
            self._writers[client].transport.set_write_buffer_limits(high=below)
            with suppress(ConnectionError):
                await self._writers[client].drain()

    async def connect(self, port: int) -> None:
        """Links to the member that listens at this port."""
        await self.speak(*await asyncio.open_connection(HOST, port))

    async def speak(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serves one link from its beginning to its end."""
        await self.ready.wait()
        writer.write(len(self.own).to_bytes(4, "little") + self.own.encode())
        client = (await _frame(reader)).decode()
        self._writers[client] = writer
        self.said.put_nowait(serverless_events.PeerLinked(client))
        if len(self._writers) == self.others:
            self.linked.set()
        if self.exchange is not None:
            self.exchange.up(client)
        try:
            while True:
                self._heard(client, decode_peer(await _frame(reader)))
        except (asyncio.IncompleteReadError, ConnectionError):
            del self._writers[client]
            if self.exchange is not None:
                self.exchange.down(client)

    def _heard(self, client: str, frame: PeerFrame) -> None:
        if isinstance(frame, OnwardFrame):
            self.said.put_nowait(serverless_events.PeerFrameReceived(client, frame))
        elif self.exchange is None:
            self._early.append((client, frame))
        elif isinstance(frame, GroupFrame):
            self.exchange.frame_received(client, frame)


async def _frame(reader: asyncio.StreamReader) -> bytes:
    return await reader.readexactly(int.from_bytes(await reader.readexactly(4), "little"))


async def _heard() -> dict[str, Any]:
    told: dict[str, Any] = json.loads(await asyncio.to_thread(sys.stdin.readline))
    return told


async def _averaged(exchange: Exchange) -> dict[str, Any]:
    try:
        end = await exchange.result()
    except GroupError as error:
        return {"reason": str(error)}
    digest = hashlib.sha256(end.mean.astype("<f4").tobytes()).hexdigest()
    return {"sha256": digest, "survivors": end.survivors, "fraction": end.fraction}


async def _led(lines: TcpLines, events: list[object], weight: int) -> Group:
    """Leads a round; returns the group order that follows once others call."""
    machine = ServerlessRounds(lines.own, can_lead=True)
    for raw in events:
        event: serverless_events.Event = msgspec.convert(raw, serverless_events.Event, builtin_types=())
        lines.said.put_nowait(event)
    loop = asyncio.get_running_loop()
    while True:
        happened: serverless_events.Event = serverless_events.ServerlessTimePassed()
        with suppress(TimeoutError):
            async with asyncio.timeout_at(machine.timer()):
                happened = await lines.said.get()
        for effect in machine.happened(happened, loop.time()):
            match effect:
                case serverless_events.SendToPeers(clients, frame):
                    for client in clients:
                        lines.send(client, frame)
                case serverless_events.Agree(Train(round=number, weights=base)):
                    report = Trained(number, base, examples=weight, steps=1, loss=0.5, sums=[])
                    lines.said.put_nowait(serverless_events.LocalTrained(report))
                case serverless_events.Agree(Group() as order):
                    return order


async def main() -> None:
    """Takes part in one group."""
    lines = TcpLines()
    server = await asyncio.start_server(lines.speak, HOST, 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    told = await _heard()
    lines.own, lines.others = told["own"], told["others"]
    lines.ready.set()
    links = [asyncio.create_task(lines.connect(port)) for port in told["connect"]]
    await lines.linked.wait()
    print("linked", flush=True)
    told = await _heard()
    if "events" in told:
        order = await _led(lines, told["events"], told["weight"])
    else:
        given = decode_to_peer(bytes.fromhex(told["order"]))
        assert isinstance(given, Group)
        order = given
    vector = np.asarray(drawn(told["draw"], order.bounds[-1]), np.float32)
    exchange = Exchange(order, lines.own, vector, told["weight"], lines, TASK, BUNDLE)
    lines.begin(exchange)
    print(json.dumps(await _averaged(exchange)), flush=True)
    # Other members may still request the result.
    await asyncio.to_thread(sys.stdin.read)
    exchange.close()
    for link in links:
        link.cancel()


if __name__ == "__main__":
    asyncio.run(main())
