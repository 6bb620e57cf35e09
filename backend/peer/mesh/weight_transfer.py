"""Weights from one peer to another: for newcomers, and for who missed a round."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Protocol

from backend.peer.data.blob_cache import LARGEST_BLOB, BlobSource
from backend.peer.mesh.weights import KeptWeights
from backend.wire.peer_messages import Fetch, PeerFrame, Weights

# A peer that hands out weights and says nothing for so long is given up for another.
PATIENCE = 5.0
# Bytes that may wait to be sent while weights are handed out: a group's frames go beside them.
MOST_WAITING = 512 * 1024


class PeerLinks(Protocol):
    """What is needed of backend.peer.links."""

    def send(self, client: str, frame: PeerFrame, bulk: bool = False) -> None: ...
    def room(self, client: str) -> int: ...
    async def drained(self, client: str, below: int) -> None: ...


class _Coming:
    """Weights that come from `client`, chunk after chunk; `content` is what other peers sent already."""

    def __init__(self, client: str, sha256: str, content: bytearray) -> None:
        self.client, self.sha256, self.content = client, sha256, content
        self.size: int | None = None
        self.news = asyncio.Event()

    def heard(self, frame: Weights) -> None:
        """A chunk that stands at the end of what came is added; any other is one of an older request."""
        if frame.weights != self.sha256:
            return
        self.size = frame.size
        if frame.offset == len(self.content) and len(self.content) + len(frame.data) <= frame.size:
            self.content += frame.data
        self.news.set()


class Fetching:
    """Asks others for weights, and hands out what `holdings` has: to each one thing at a time."""

    def __init__(
        self,
        links: PeerLinks,
        holdings: KeptWeights,
        spawn: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]],
    ) -> None:
        self._links = links
        self._holdings = holdings
        self._spawn = spawn
        self._coming: _Coming | None = None
        self._handing: dict[str, asyncio.Task[None]] = {}

    async def fetch(self, sha256: str, size: int, clients: Sequence[str]) -> bytes | None:
        """The weights of that hash, `size` bytes long, from the first of `clients` that has them.

        What one sent before it went away is not asked for again. None if none of them has them.
        """
        content = bytearray()
        for client in clients:
            if await self._from(_Coming(client, sha256, content), size):
                if await asyncio.to_thread(_sha256, content) == sha256:
                    return bytes(content)
                # One of them sent something else; the next must send all of it.
                content = bytearray()
        return None

    async def _from(self, coming: _Coming, size: int) -> bool:
        """Whether all bytes are here."""
        self._coming = coming
        self._links.send(coming.client, Fetch(weights=coming.sha256, offset=len(coming.content)))
        while len(coming.content) < size:
            try:
                await asyncio.wait_for(coming.news.wait(), PATIENCE)
            except TimeoutError:
                return False
            coming.news.clear()
            if coming.size != size:
                return False
        return True

    def weights(self, client: str, frame: Weights) -> None:
        """A chunk came; from whom none was asked for, it is passed over."""
        if self._coming and self._coming.client == client:
            self._coming.heard(frame)

    def asked(self, client: str, frame: Fetch) -> None:
        """`client` wants weights; what it wanted before it no longer does."""
        self.lost(client)
        self._handing[client] = self._spawn(self._hand_out(client, frame))

    def lost(self, client: str) -> None:
        """The link to `client` is gone."""
        before = self._handing.pop(client, None)
        if before:
            before.cancel()

    async def _hand_out(self, client: str, request: Fetch) -> None:
        content = self._holdings.find(request.weights)
        size, offset = len(content or b""), request.offset
        if content is None or offset >= size:
            nothing = Weights(weights=request.weights, size=size, offset=offset, data=memoryview(b""))
            self._links.send(client, nothing)
            return
        view = memoryview(content)
        while offset < size and (room := self._links.room(client)) > 0:
            data = view[offset : offset + room]
            chunk = Weights(weights=request.weights, size=size, offset=offset, data=data)
            self._links.send(client, chunk, bulk=True)
            offset += len(data)
            await self._links.drained(client, MOST_WAITING)


class Sources:
    """Bytes by their SHA-256, as jobs want them: from here, from peers, or else from the server.

    `holders` names the peers that say they have such weights.
    """

    def __init__(
        self,
        holdings: KeptWeights,
        fetching: Fetching,
        blobs: BlobSource,
        holders: Callable[[str], list[str]],
    ) -> None:
        self._holdings = holdings
        self._fetching = fetching
        self._blobs = blobs
        self._holders = holders

    async def get(self, sha256: str, at_most: int = LARGEST_BLOB) -> bytes:
        """Those bytes. Raises what the server's blobs raise."""
        held = self._holdings.find(sha256)
        if held is not None:
            return held
        if clients := self._holders(sha256):
            content = await self._fetching.fetch(sha256, at_most, clients)
            if content is not None:
                self._holdings.keep(sha256, content)
                return content
        return await self._blobs.get(sha256, at_most)


def _sha256(content: bytearray) -> str:
    return hashlib.sha256(content).hexdigest()
