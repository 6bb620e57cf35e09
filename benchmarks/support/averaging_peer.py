"""A peer process of benchmarks.allreduce that communicates by lines of JSON.

Usage: python -m benchmarks.support.averaging_peer HOST. The process prints its neighbour entry, reads the
list of all peers, and reports when it is linked with them. It then draws a vector of the requested size, and
averages it with the others on each order.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import secrets
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from time import process_time
from typing import Any

import msgspec
import numpy as np
import uvloop

from backend.crypto.client_keys import identity_key
from backend.numerics.vectors import Vector
from backend.peer.links.interfaces import LocalPeer
from backend.peer.links.links import LinkManager
from backend.peer.mesh.exchange import Exchange
from backend.peer.session.trust_store import TrustStore
from backend.peer.training.freed_memory import keep_freed_memory
from backend.wire.mesh_fields import Way
from backend.wire.mesh_messages import Group, Neighbour
from backend.wire.peer_messages import GroupFrame, OfGroup, PeerFrame

TASK, BUNDLE = "allreduce", "ab" * 32
# Seconds until all peers have to be linked.
LINKING = 60.0


class NoServer:
    """Sends no signals: peers that listen need none."""

    def signal(self, _client: str, _data: bytes) -> bool:
        return False

    async def relay(self, _client: str, _data: bytes) -> bool:
        return False


@dataclass
class Peer:
    """Forwards the events of links to the exchange."""

    known: TrustStore
    links: LinkManager = field(init=False)
    exchange: Exchange | None = None
    # Frames of a group whose order reached others earlier.
    early: list[tuple[str, GroupFrame]] = field(default_factory=list)
    number: int = -1
    linked: asyncio.Event = field(default_factory=asyncio.Event)

    def up(self, client: str, _way: Way) -> None:
        self.linked.set()
        if self.exchange:
            self.exchange.up(client)

    def down(self, client: str, _reason: str) -> None:
        if self.exchange:
            self.exchange.down(client)

    def silent(self, client: str) -> None:
        if self.exchange:
            self.exchange.silent(client)

    def refused(self, _client: str, reason: str) -> None:
        print(reason, file=sys.stderr)

    def received(self, client: str, frame: PeerFrame) -> None:
        if isinstance(frame, OfGroup):
            if self.exchange and frame.round == self.number:
                self.exchange.frame_received(client, frame)
            elif frame.round > self.number:
                self.early.append((client, frame))

    async def average(self, order: Group, vector: Vector, weight: float) -> dict[str, Any]:
        """Takes part in one group."""
        if self.exchange:
            self.exchange.close()
        cpu_seconds = process_time()
        self.number = order.round
        self.exchange = exchange = Exchange(
            order, self.links.local.client, vector, weight, self.links, TASK, BUNDLE
        )
        self.links.set_group_patience(order.patience)
        exchange.start()
        for client in self.links.linked():
            exchange.up(client)
        early, self.early = self.early, []
        for client, frame in early:
            self.received(client, frame)
        end = await exchange.result()
        cpu_seconds = process_time() - cpu_seconds
        return {
            "seconds": end.seconds,
            "cpu_seconds": cpu_seconds,
            "fraction": end.fraction,
            "survivors": len(end.survivors),
            "sha256": hashlib.sha256(end.mean.data).hexdigest(),
        }


async def serve(host: str, folder: Path, kind: type[Peer] = Peer) -> None:
    """Communicates with the benchmark until its input ends."""
    keep_freed_memory()
    client, key = secrets.token_hex(8), secrets.token_bytes(32)
    trust_store = TrustStore(folder)
    trust_store.enter(TASK)
    peer = kind(trust_store)
    peer.links = LinkManager(
        LocalPeer(task=TASK, client=client, key=key, ways=("websocket",)),
        NoServer(),
        peer,
        trust_store,
        reach="host",
    )
    await peer.links.open(host)
    entry = Neighbour(
        client, identity_key(key), "peer", "numpy", ["websocket"], peer.links.local.address, 0, None
    )
    say(json.loads(msgspec.json.encode(entry)))
    neighbours = [_neighbour(neighbour) for neighbour in await _hear()]
    others = {neighbour.client for neighbour in neighbours} - {client}
    peer.links.set_neighbours(neighbours)
    peer.links.set_targets(others)
    async with asyncio.timeout(LINKING):
        while set(peer.links.linked()) != others:
            peer.linked.clear()
            await peer.linked.wait()
    say("linked")
    vector: Vector = np.zeros(0, np.float32)
    while (command := await _hear()) is not None:
        if "values" in command:
            vector = (
                np.random.default_rng(command["place"]).normal(0, 0.01, command["values"]).astype(np.float32)
            )
            say("ready")
        else:
            order = msgspec.convert(command, Group)
            say(await peer.average(order, vector, 1.0 + order.members.index(client)))
    if peer.exchange:
        peer.exchange.close()
    await peer.links.close()


def _neighbour(entry: dict[str, Any]) -> Neighbour:
    return msgspec.convert({**entry, "identity": base64.b64decode(entry["identity"])}, Neighbour)


def say(what: object) -> None:
    print(json.dumps(what), flush=True)


async def _hear() -> Any:
    line = await asyncio.to_thread(sys.stdin.readline)
    return json.loads(line) if line else None


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        uvloop.run(serve(sys.argv[1], Path(folder)))


if __name__ == "__main__":
    main()
