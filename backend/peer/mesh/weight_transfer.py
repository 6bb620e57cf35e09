"""Transfers weights between peers, for newcomers and for those that missed a round."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Protocol

from backend.peer.data.blob_cache import LARGEST_BLOB, BlobSource
from backend.peer.mesh.weights import WeightCache
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


class _Download:
    """Weights that come from `client`, chunk after chunk; `content` is what other peers sent already."""

    def __init__(self, client: str, sha256: str, content: bytearray) -> None:
        self.client, self.sha256, self.content = client, sha256, content
        self.size: int | None = None
        self.progress = asyncio.Event()

    def add_chunk(self, frame: Weights) -> None:
        """A chunk that stands at the end of what came is added; any other is one of an older request."""
        if frame.weights != self.sha256:
            return
        self.size = frame.size
        if frame.offset == len(self.content) and len(self.content) + len(frame.data) <= frame.size:
            self.content += frame.data
        self.progress.set()


class WeightTransfer:
    """Downloads weights from peers, and uploads what `cache` has: to each peer one thing at a time."""

    def __init__(
        self,
        links: PeerLinks,
        cache: WeightCache,
        spawn: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]],
    ) -> None:
        self._links = links
        self._cache = cache
        self._spawn = spawn
        self._download: _Download | None = None
        self._uploads: dict[str, asyncio.Task[None]] = {}

    async def fetch(self, sha256: str, size: int, clients: Sequence[str]) -> bytes | None:
        """The weights of that hash, `size` bytes long, from the first of `clients` that has them.

        What one sent before it went away is not asked for again. None if none of them has them.
        """
        content = bytearray()
        for client in clients:
            if await self._download_from(_Download(client, sha256, content), size):
                if await asyncio.to_thread(_sha256, content) == sha256:
                    return bytes(content)
                # One of them sent something else; the next must send all of it.
                content = bytearray()
        return None

    async def _download_from(self, download: _Download, size: int) -> bool:
        """Whether all bytes are here."""
        self._download = download
        self._links.send(download.client, Fetch(weights=download.sha256, offset=len(download.content)))
        while len(download.content) < size:
            try:
                await asyncio.wait_for(download.progress.wait(), PATIENCE)
            except TimeoutError:
                return False
            download.progress.clear()
            if download.size != size:
                return False
        return True

    def chunk_received(self, client: str, frame: Weights) -> None:
        """A chunk came; from whom none was asked for, it is passed over."""
        if self._download and self._download.client == client:
            self._download.add_chunk(frame)

    def requested(self, client: str, frame: Fetch) -> None:
        """`client` wants weights; what it wanted before it no longer does."""
        self.link_lost(client)
        self._uploads[client] = self._spawn(self._upload(client, frame))

    def link_lost(self, client: str) -> None:
        """The link to `client` is gone."""
        earlier = self._uploads.pop(client, None)
        if earlier:
            earlier.cancel()

    async def _upload(self, client: str, request: Fetch) -> None:
        content = self._cache.find(request.weights)
        size, offset = len(content or b""), request.offset
        if content is None or offset >= size:
            empty = Weights(weights=request.weights, size=size, offset=offset, data=memoryview(b""))
            self._links.send(client, empty)
            return
        view = memoryview(content)
        while offset < size and (room := self._links.room(client)) > 0:
            data = view[offset : offset + room]
            chunk = Weights(weights=request.weights, size=size, offset=offset, data=data)
            self._links.send(client, chunk, bulk=True)
            offset += len(data)
            await self._links.drained(client, MOST_WAITING)


class WeightSources:
    """Bytes by their SHA-256, as jobs want them: from here, from peers, or else from the server.

    `holders` names the peers that say they have such weights.
    """

    def __init__(
        self,
        cache: WeightCache,
        transfer: WeightTransfer,
        blobs: BlobSource,
        holders: Callable[[str], list[str]],
    ) -> None:
        self._cache = cache
        self._transfer = transfer
        self._blobs = blobs
        self._holders = holders

    async def get(self, sha256: str, at_most: int = LARGEST_BLOB) -> bytes:
        """Those bytes. Raises what the server's blobs raise."""
        cached = self._cache.find(sha256)
        if cached is not None:
            return cached
        if clients := self._holders(sha256):
            content = await self._transfer.fetch(sha256, at_most, clients)
            if content is not None:
                self._cache.keep(sha256, content)
                return content
        return await self._blobs.get(sha256, at_most)


def _sha256(content: bytearray) -> str:
    return hashlib.sha256(content).hexdigest()
