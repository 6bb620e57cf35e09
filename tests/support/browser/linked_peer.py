"""A Python peer that links to pages of Chromium."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np

from backend.crypto.client_keys import identity_key
from backend.peer.links.interfaces import LocalPeer
from backend.peer.links.links import LinkManager
from backend.peer.session.trust_store import TrustStore
from backend.wire.mesh_fields import Way
from backend.wire.mesh_messages import Neighbour
from backend.wire.peer_messages import Fetch, PeerFrame, Weights
from tests.support.browser.linked_pages import TASK, Switch
from tests.support.peer.linked_peers import until
from tests.support.timeouts import PATIENCE

MOST_WAITING = 1 << 20


def pattern(size: int) -> bytes:
    """Returns bytes that both ends can compute."""
    return (np.arange((size + 3) // 4, dtype=np.uint32) * np.uint32(2654435761)).tobytes()[:size]


class PythonPeer:
    """Sends and fetches the pattern; `told` is the log of its links."""

    def __init__(self, folder: Path, switch: Switch, client: str, ways: tuple[Way, ...]) -> None:
        self.client = client
        self.told: list[str] = []
        self._switch = switch
        self._tasks: set[asyncio.Task[None]] = set()
        self._got = bytearray()
        self._whole = asyncio.Event()
        self._wanted = 0
        known = TrustStore(folder / client)
        known.enter(TASK)
        key = hashlib.sha256(client.encode()).digest()
        own = LocalPeer(task=TASK, client=client, key=key, ways=ways)
        self.links = LinkManager(own, self, self, known, reach="host")
        switch.enter(client, identity_key(key).hex(), list(ways), self._deliver)

    def introduce(self) -> None:
        """Informs its links of the members of the mesh."""
        members = [
            Neighbour(**{**member, "identity": bytes.fromhex(member["identity"])})
            for member in self._switch.members
        ]
        self.links.set_neighbours(members)
        self.links.set_targets([member.client for member in members])

    async def linked(self, other: str, way: Way, seconds: float = PATIENCE) -> None:
        """Waits until the link to `other` uses this way."""
        await until(lambda: self.links.way(other) == way, seconds)

    async def fetch(self, other: str, size: int) -> float:
        """Returns the seconds until the pattern of `size` bytes has arrived from `other`."""
        begun = time.perf_counter()
        self._got.clear()
        self._whole.clear()
        self._wanted = size
        self.links.send(other, Fetch(weights=f"{size:08x}".ljust(64, "0"), offset=0))
        await asyncio.wait_for(self._whole.wait(), PATIENCE)
        seconds = time.perf_counter() - begun
        assert bytes(self._got) == pattern(size)
        return seconds

    # The interface that links use for the connection to the server.

    def signal(self, client: str, data: bytes) -> bool:
        self._begin(self._switch.carry(self.client, client, "signal", data))
        return True

    async def relay(self, client: str, data: bytes) -> bool:
        await self._switch.carry(self.client, client, "relay", data)
        return True

    async def _deliver(self, sender: str, what: str, data: bytes) -> None:
        if what == "signal":
            self.links.signalled(sender, data)
        else:
            self.links.relayed(sender, data)

    # The events of links.

    def up(self, client: str, way: Way) -> None:
        self.told.append(f"up {client} {way}")

    def down(self, client: str, reason: str) -> None:
        self.told.append(f"down {client} {reason}")

    def silent(self, client: str) -> None:
        self.told.append(f"silent {client}")

    def refused(self, client: str, reason: str) -> None:
        self.told.append(f"refused {client} {reason}")

    def received(self, client: str, frame: PeerFrame) -> None:
        if isinstance(frame, Fetch):
            self._begin(self._give(client, frame.weights))
        elif isinstance(frame, Weights):
            assert frame.offset == len(self._got)
            self._got += frame.data
            if len(self._got) == self._wanted:
                self._whole.set()

    async def _give(self, client: str, weights: str) -> None:
        content = pattern(int(weights[:8], 16))
        view, at = memoryview(content), 0
        while at < len(content) and (room := self.links.room(client)):
            data = view[at : at + room]
            chunk = Weights(weights=weights, size=len(content), offset=at, data=data)
            self.links.send(client, chunk, bulk=True)
            at += len(data)
            await self.links.drained(client, MOST_WAITING)

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


@asynccontextmanager
async def python_peer(
    folder: Path, switch: Switch, client: str, ways: tuple[Way, ...]
) -> AsyncIterator[PythonPeer]:
    """Yields a Python peer and closes its links at the end."""
    peer = PythonPeer(folder, switch, client, ways)
    await peer.links.open()
    try:
        yield peer
    finally:
        await peer.links.close()
