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
    """Where bytes are had by their SHA-256."""

    async def get(self, sha256: str, at_most: int = LARGEST_BLOB) -> bytes:
        """Those bytes. Raises PeerError, and UnreachableError where trying again may help."""


class BlobCache:
    """Bytes by SHA-256 from one server. Owns nothing but its cache folder, which several peers may share."""

    def __init__(
        self, client: httpx.AsyncClient, root: str, cache: Path, cache_bytes: int = CACHE_BYTES
    ) -> None:
        self._client = client
        self._root = root
        self._cache = cache
        self._cache_bytes = cache_bytes

    async def get(self, sha256: str, at_most: int = LARGEST_BLOB) -> bytes:
        """The blob of that hash, at most `at_most` bytes long.

        Raises UnreachableError when the server does not answer, and PeerError when it has no such blob or
        sends other bytes. Whoever needs the bytes retries (backend/peer/session/retry.py).
        """
        path = self._cache / sha256
        cached = await asyncio.to_thread(_read_checked, path, sha256)
        if cached is not None:
            return cached
        content = await self.fetch(sha256, at_most)
        await asyncio.to_thread(self._keep, path, content)
        return content

    async def fetch(self, sha256: str, at_most: int) -> bytes:
        """The same, past the cache: for what is needed once."""
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

    def _keep(self, path: Path, content: bytes) -> None:
        """A full disk costs only time."""
        with suppress(OSError):
            write_whole(path, content)
            evict(self._cache, self._cache_bytes)


def _read_checked(path: Path, sha256: str) -> bytes | None:
    """The cached blob, marked as used; None when it is missing or was damaged on the disk."""
    with suppress(OSError):
        content = path.read_bytes()
        if hashlib.sha256(content).hexdigest() == sha256:
            os.utime(path)
            return content
        path.unlink()
    return None
