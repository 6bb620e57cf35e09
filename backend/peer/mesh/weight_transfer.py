"""Transfers weights, and other bytes by their SHA-256, from peer to peer when one asks for them."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, Protocol

from backend.peer.data.blob_cache import LARGEST_BLOB, BlobSource
from backend.peer.mesh.weights import WeightCache
from backend.wire.peer_messages import Fetch, PeerFrame, Weights

# Seconds without new bytes after which a peer that sends weights is given up for another.
PATIENCE = 5.0
# Bytes a second below which it is given up, too: one now and then would hold up all other downloads.
SLOWEST = 16 * 1024
# Bytes of weights that may wait to be sent to a peer: a group's frames share the link.
MOST_WAITING = 512 * 1024


class PeerLinks(Protocol):
    """The part of backend.peer.links that transfers need."""

    def send(self, client: str, frame: PeerFrame, bulk: bool = False) -> None: ...
    def room(self, client: str) -> int: ...
    def linked(self) -> list[str]: ...
    async def drained(self, client: str, below: int) -> None: ...


class _Download:
    """Weights that arrive from `client` in chunks; `content` has arrived before, from other peers.

    They have as many bytes as the client says in its first chunk, but not more than `at_most`.
    """

    def __init__(self, client: str, sha256: str, at_most: int, content: bytearray) -> None:
        self.client, self.sha256, self.content = client, sha256, content
        self._at_most = at_most
        self._size: int | None = None
        self._has_failed = False
        self._progress = asyncio.Event()

    def _has_ended(self) -> bool:
        return self._has_failed or (self._size is not None and len(self.content) >= self._size)

    def add_chunk(self, frame: Weights) -> None:
        """Appends a chunk that continues `content`; any other one is of an older request."""
        if frame.weights != self.sha256 or self._has_ended():
            return
        self._size = frame.size if self._size is None else self._size
        if frame.size != self._size or not 0 < frame.size <= self._at_most:
            self.fail()
        elif frame.data and frame.offset == len(self.content):
            self.content += frame.data
            self._progress.set()
        elif self._has_ended():
            self._progress.set()

    def fail(self) -> None:
        """Ends it without the bytes that are missing."""
        self._has_failed = True
        self._progress.set()

    async def completed(self) -> bool:
        """Waits as long as bytes arrive, and fast enough; returns whether all have."""
        clock = asyncio.get_running_loop().time
        ends = clock() + PATIENCE + (self._at_most - len(self.content)) / SLOWEST
        while not self._has_ended():
            try:
                async with asyncio.timeout_at(min(clock() + PATIENCE, ends)):
                    await self._progress.wait()
            except TimeoutError:
                return False
            self._progress.clear()
        return not self._has_failed


class WeightTransfer:
    """Downloads bytes one after the other, and uploads what `find` finds: to each peer one at a time.

    `find` takes a SHA-256 in hexadecimal.
    """

    def __init__(
        self,
        links: PeerLinks,
        find: Callable[[str], Awaitable[bytes | None]],
        spawn: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]],
    ) -> None:
        self._links = links
        self._find = find
        self._spawn = spawn
        self._download: _Download | None = None
        self._downloading = asyncio.Lock()
        self._uploads: dict[str, asyncio.Task[None]] = {}

    async def fetch(self, sha256: str, at_most: int, clients: Sequence[str]) -> bytes | None:
        """Downloads the weights of that hash from the first of `clients` that has them.

        Longer ones are refused. Bytes that a client sent before it failed are not requested again, unless the
        whole turns out to be false. Returns None if none has them.
        """
        content = bytearray()
        async with self._downloading:
            for client in clients:
                # What others sent before may be false: then this one is asked for all.
                for _ in range(2 if content else 1):
                    if not await self._download_from(_Download(client, sha256, at_most, content)):
                        break
                    if await asyncio.to_thread(_sha256, content) == sha256:
                        return bytes(content)
                    content.clear()
        return None

    async def _download_from(self, download: _Download) -> bool:
        """Requests the missing bytes; returns whether all have arrived. Without a link none do."""
        if download.client not in self._links.linked():
            return False
        self._download = download
        self._links.send(download.client, Fetch(weights=download.sha256, offset=len(download.content)))
        return await download.completed()

    def chunk_received(self, client: str, frame: Weights) -> None:
        """Takes a chunk; one that was not requested from this peer is ignored."""
        if self._download and self._download.client == client:
            self._download.add_chunk(frame)

    def requested(self, client: str, frame: Fetch) -> None:
        """Takes a request for weights; it ends an earlier request of `client`."""
        self._end_upload(client)
        self._uploads[client] = self._spawn(self._upload(client, frame))

    def link_lost(self, client: str) -> None:
        """Ends the upload to `client`, whose link is down, and the download from it."""
        self._end_upload(client)
        if self._download and self._download.client == client:
            self._download.fail()

    def _end_upload(self, client: str) -> None:
        upload = self._uploads.pop(client, None)
        if upload:
            upload.cancel()

    async def _upload(self, client: str, request: Fetch) -> None:
        content = await self._find(request.weights)
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
    """Returns bytes by their SHA-256 for jobs: from the cache, from peers, or else from the server.

    `holders` returns the peers that report such weights.
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
        """Returns the bytes of that hash. Raises what the server's blobs raise."""
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
