from __future__ import annotations

import hashlib
import os
from pathlib import Path

import httpx
import pytest

from backend.errors import PeerError, UnreachableError
from backend.peer.data.blob_cache import BlobCache
from tests.integration.peer.conftest import BlobServer


def put(server: BlobServer, content: bytes) -> str:
    name = hashlib.sha256(content).hexdigest()
    server.blobs[name] = content
    return name


def cached(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


async def test_a_blob_is_fetched_once_and_then_comes_from_the_cache(
    blob_server: BlobServer, tmp_path: Path
) -> None:
    name = put(blob_server, b"weights")
    async with httpx.AsyncClient() as client:
        blobs = BlobCache(client, blob_server.url, tmp_path / "cache")
        assert await blobs.get(name) == b"weights"
        assert await blobs.get(name) == b"weights"
    assert blob_server.asked == [name]


async def test_bytes_of_another_hash_are_refused_and_not_kept(
    blob_server: BlobServer, tmp_path: Path
) -> None:
    name = put(blob_server, b"weights")
    blob_server.blobs[name] = b"forged!"
    async with httpx.AsyncClient() as client:
        blobs = BlobCache(client, blob_server.url, tmp_path)
        with pytest.raises(PeerError, match="damaged"):
            await blobs.get(name)
    assert cached(tmp_path) == set()


async def test_a_blob_damaged_on_the_disk_is_fetched_again(blob_server: BlobServer, tmp_path: Path) -> None:
    name = put(blob_server, b"weights")
    (tmp_path / name).write_bytes(b"rotten")
    async with httpx.AsyncClient() as client:
        assert await BlobCache(client, blob_server.url, tmp_path).get(name) == b"weights"
    assert (tmp_path / name).read_bytes() == b"weights"


async def test_a_blob_longer_than_announced_is_refused(blob_server: BlobServer, tmp_path: Path) -> None:
    name = put(blob_server, bytes(100_000))
    async with httpx.AsyncClient() as client:
        with pytest.raises(PeerError, match="longer than 1000 bytes"):
            await BlobCache(client, blob_server.url, tmp_path).get(name, at_most=1000)


async def test_the_least_recently_used_blobs_make_room(blob_server: BlobServer, tmp_path: Path) -> None:
    names = [put(blob_server, bytes([number]) * 400) for number in range(3)]
    async with httpx.AsyncClient() as client:
        blobs = BlobCache(client, blob_server.url, tmp_path, cache_bytes=1000)
        for age, name in enumerate(names[:2]):
            await blobs.get(name)
            os.utime(tmp_path / name, (1000 + age, 1000 + age))
        await blobs.get(names[0])
        await blobs.get(names[2])
    assert cached(tmp_path) == {names[0], names[2]}


async def test_a_server_that_is_away_is_told_apart_from_a_blob_that_is_not_there(
    blob_server: BlobServer, tmp_path: Path
) -> None:
    async with httpx.AsyncClient() as client:
        with pytest.raises(PeerError, match="has no blob"):
            await BlobCache(client, blob_server.url, tmp_path).get("0" * 64)
        with pytest.raises(UnreachableError):
            await BlobCache(client, "http://127.0.0.1:9", tmp_path).get("0" * 64)
