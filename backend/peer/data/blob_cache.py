"""Downloads bundles, versions and shards by their hash, checks them, and caches them in bounded space."""

from __future__ import annotations

import asyncio
import hashlib
import os
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import httpx

from backend.errors import PeerError, UnreachableError
from backend.peer.data.shared_files import evict, write_whole

CACHE_BYTES = 2 << 30
LARGEST_BLOB = 4 << 30


class BlobSource(Protocol):
    """A source of blobs by their SHA-256."""

    async def get(self, sha256: str, at_most: int = LARGEST_BLOB) -> bytes:
        """Returns the blob. Raises PeerError, and UnreachableError where a retry may help."""


class BlobCache:
    """Blobs of one server by their SHA-256. Owns only its cache folder, which several peers may share."""

    def __init__(
        self, client: httpx.AsyncClient, root: str, cache: Path, cache_bytes: int = CACHE_BYTES
    ) -> None:
        self._client = client
        self._root = root
        self._cache = cache
        self._cache_bytes = cache_bytes

    async def get(self, sha256: str, at_most: int = LARGEST_BLOB) -> bytes:
        """Returns the blob with that hash, at most `at_most` bytes long, from the cache or the server.

        Raises UnreachableError when the server does not answer, and PeerError when it has no such blob or
        sends other bytes. The caller retries (backend/peer/session/retry.py).
        """
        cached = await self.find(sha256)
        if cached is not None:
            return cached
        content = await self.fetch(sha256, at_most)
        await self.keep(sha256, content)
        return content

    async def find(self, sha256: str) -> bytes | None:
        """Returns the blob with that hash if it is in the cache."""
        return await asyncio.to_thread(_read_checked, self._cache / sha256, sha256)

    async def keep(self, sha256: str, content: bytes) -> None:
        """Caches a blob of that hash."""
        await asyncio.to_thread(self._write, self._cache / sha256, content)

    async def fetch(self, sha256: str, at_most: int) -> bytes:
        """Returns the blob from the server without caching it, for blobs that are needed once."""
        content = bytearray()
        try:
            async with self._client.stream("GET", f"{self._root}/blobs/{sha256}") as response:
                if response.status_code >= 500:
                    raise UnreachableError(
                        f"The server answers {response.status_code}; it may be restarting."
                    )
                if response.status_code != 200:
                    raise PeerError(f"The server has no blob {sha256[:12]} ({response.status_code}).")
                async for block in response.aiter_bytes():
                    content += block
                    if len(content) > at_most:
                        raise PeerError(f"Blob {sha256[:12]} is longer than {at_most} bytes and was refused.")
        except httpx.TransportError as error:
            raise UnreachableError(
                f"The server does not answer ({error or type(error).__name__})."
            ) from error
        if hashlib.sha256(content).hexdigest() != sha256:
            raise PeerError(f"Blob {sha256[:12]} arrived damaged; check the connection and try again.")
        return bytes(content)

    def _write(self, path: Path, content: bytes) -> None:
        """Caches a blob. A full disk costs only another download."""
        with suppress(OSError):
            write_whole(path, content)
            evict(self._cache, self._cache_bytes)


def _read_checked(path: Path, sha256: str) -> bytes | None:
    """Returns the cached blob and marks it as used; None when it is missing or damaged."""
    with suppress(OSError):
        content = path.read_bytes()
        if hashlib.sha256(content).hexdigest() == sha256:
            os.utime(path)
            return content
        path.unlink()
    return None
