"""A mesh peer that only links and sends: a process for benchmarks and tests of links.

Usage: python -m benchmarks.mesh.link_peer URL TASK [--ways WAY...] [--listen HOST:PORT] [--relay-only]
       [--ice URL USER PASSWORD] [--dead-after SECONDS] [--loop uvloop|asyncio]

The peer enters the mesh of a real server, links to all members, and writes events as lines of JSON. On
standard input, `send BYTES` sends a vector of that many bytes to all linked peers, which check its SHA-256;
the end of the input ends the peer.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import random
import secrets
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import uvloop
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

from backend.crypto.client_keys import identity_key
from backend.formats.network_address import Reach, reach_of
from backend.peer.links import peer_links
from backend.peer.links.interfaces import LocalPeer
from backend.peer.links.links import LinkManager
from backend.peer.session.trust_store import TrustStore
from backend.wire.client_id import client_id
from backend.wire.codec import MAX_SERVER_FRAME
from backend.wire.mesh_codec import decode_to_peer, encode_mesh
from backend.wire.mesh_fields import MESH_PROTOCOL, Way
from backend.wire.mesh_messages import (
    Enter,
    Entered,
    IceServer,
    Members,
    Relay,
    RelayTo,
    Signal,
    SignalTo,
    Unreachable,
)
from backend.wire.peer_messages import PeerFrame, Weights

# Bytes that may be queued on one link.
_WAITING = 2 << 20


class LinkPeer:
    """Owns the connection to the server, and reports events of links."""

    def __init__(
        self,
        socket: ClientConnection,
        local_peer: LocalPeer,
        trust_store: TrustStore,
        relay_only: bool,
        reach: Reach,
    ) -> None:
        self._socket = socket
        self._tasks: set[asyncio.Task[None]] = set()
        self._parcels = asyncio.Semaphore(8)
        self._cpu = 0.0
        self._heard: dict[str, tuple[float, list[memoryview]]] = {}
        self.links = LinkManager(local_peer, self, self, trust_store, relay_only, reach=reach)

    def signal(self, client: str, data: bytes) -> bool:
        """Sends a signal through the server."""
        task = asyncio.create_task(self._say(SignalTo(client=client, data=data)))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return True

    async def relay(self, client: str, data: bytes) -> bool:
        """Sends a parcel through the server; waits until the server accepts it."""
        await self._say(RelayTo(client=client, data=data))
        return True

    def up(self, client: str, way: Way) -> None:
        """Reports a new link."""
        tell("up", client=client, way=way)

    def down(self, client: str, reason: str) -> None:
        """Reports a lost link."""
        self._heard.pop(client, None)
        tell("down", client=client, reason=reason)

    def silent(self, client: str) -> None:
        """Reports a link without traffic."""
        tell("silent", client=client)

    def refused(self, client: str, reason: str) -> None:
        """Reports a peer that is not trusted."""
        tell("refused", client=client, reason=reason)

    def received(self, client: str, frame: PeerFrame) -> None:
        """Collects the chunks of a vector; after the last one reports it with its duration."""
        if not isinstance(frame, Weights):
            return
        if client not in self._heard:
            self._cpu = time.process_time()
        began, chunks = self._heard.setdefault(client, (time.monotonic(), []))
        chunks.append(frame.data)
        if frame.offset + len(frame.data) == frame.size:
            del self._heard[client]
            seconds = time.monotonic() - began
            vector = b"".join(chunks)
            intact = hashlib.sha256(vector).hexdigest() == frame.weights
            way = self.links.way(client)
            cpu = time.process_time() - self._cpu
            tell(
                "received",
                client=client,
                bytes=len(vector),
                whole=intact,
                seconds=seconds,
                cpu_seconds=cpu,
                way=way,
            )

    async def send(self, size: int) -> None:
        """Sends a vector to all linked peers."""
        vector = random.Random(size).randbytes(size)
        name = hashlib.sha256(vector).hexdigest()
        before = time.process_time()
        await asyncio.gather(*(self._send(client, vector, name) for client in self.links.linked()))
        tell("sent", bytes=size, cpu_seconds=time.process_time() - before)

    async def listen(self) -> None:
        """Handles the server's messages until the connection ends."""
        async for data in self._socket:
            match decode_to_peer(data if isinstance(data, bytes) else data.encode()):
                case Members(members=members):
                    self.links.set_neighbours(members)
                    self.links.set_targets([one.client for one in members])
                case Signal(client=client, data=note):
                    self.links.signalled(client, note)
                case Relay(client=client, data=parcel):
                    self.links.relayed(client, parcel)
                case Unreachable(client=client):
                    self.links.unreachable(client)

    async def _send(self, client: str, vector: bytes, name: str) -> None:
        offset, view = 0, memoryview(vector)
        while offset < len(vector) and (room := self.links.room(client)):
            data = view[offset : offset + room]
            frame = Weights(weights=name, size=len(vector), offset=offset, data=data)
            self.links.send(client, frame, bulk=True)
            offset += len(data)
            await self.links.drained(client, _WAITING)
        await self.links.drained(client, 1)

    async def _say(self, message: SignalTo | RelayTo) -> None:
        try:
            await self._socket.send(encode_mesh(message))
        except ConnectionClosed:
            self.links.server_away()


def tell(event: str, **values: Any) -> None:
    """Prints an event for the parent process."""
    print(json.dumps({"event": event, **values}), flush=True)


async def take_part(options: argparse.Namespace) -> None:
    """Runs the peer from entering the mesh to the end of standard input."""
    token, key = secrets.token_urlsafe(24), secrets.token_bytes(32)
    address = f"{options.url.replace('http', 'ws', 1)}/api/tasks/{options.task}/socket"
    local_peer = LocalPeer(task=options.task, client=client_id(token), key=key, ways=tuple(options.ways))
    with tempfile.TemporaryDirectory() as folder:
        trust_store = TrustStore(Path(folder))
        trust_store.enter(address)
        async with connect(
            address, subprotocols=[Subprotocol(MESH_PROTOCOL)], max_size=MAX_SERVER_FRAME, proxy=None
        ) as socket:
            reach = reach_of(urlsplit(options.url).hostname or "")
            peer = LinkPeer(socket, local_peer, trust_store, options.relay_only, reach)
            host, _, port = (options.listen or "").rpartition(":")
            await peer.links.open(host or None, int(port or 0))
            enter = Enter(
                token=token,
                kind="peer",
                backend="numpy",
                agent="link",
                identity=identity_key(key),
                ways=options.ways,
                address=peer.links.local.address,
                round=0,
                holds=None,
                certificate=None,
            )
            await socket.send(encode_mesh(enter))
            entered = decode_to_peer(bytes(await socket.recv(decode=False)))
            assert isinstance(entered, Entered)
            own_ice = [IceServer(urls=[url], username=u, credential=p) for url, u, p in options.ice]
            peer.links.use_ice([*entered.ice, *own_ice])
            tell("entered", client=entered.client)
            listening = asyncio.create_task(peer.listen())
            await _run_commands(peer)
            await peer.links.close()
            listening.cancel()


async def _run_commands(peer: LinkPeer) -> None:
    """Executes the commands on standard input."""
    loop, reader = asyncio.get_running_loop(), asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        await peer.send(int(line.split()[1]))


def main() -> None:
    """Runs one peer."""
    parser = argparse.ArgumentParser(description="A peer that links and sends.")
    parser.add_argument("url")
    parser.add_argument("task")
    parser.add_argument("--ways", nargs="+", default=["websocket", "webrtc", "relay"])
    parser.add_argument("--listen", metavar="HOST:PORT")
    parser.add_argument("--relay-only", action="store_true")
    parser.add_argument("--ice", nargs=3, action="append", default=[], metavar=("URL", "USER", "PASSWORD"))
    parser.add_argument("--dead-after", type=float, default=peer_links.DEAD_SECONDS, metavar="SECONDS")
    parser.add_argument("--loop", choices=("uvloop", "asyncio"), default="uvloop")
    options = parser.parse_args()
    peer_links.DEAD_SECONDS = options.dead_after
    with asyncio.Runner(loop_factory=uvloop.new_event_loop if options.loop == "uvloop" else None) as runner:
        runner.run(take_part(options))


if __name__ == "__main__":
    main()
