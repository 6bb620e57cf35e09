"""Members hand each other the public shards while their server is away, over real links on loopback."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from backend.errors import PeerError, UnreachableError
from backend.formats.manifest import Manifest
from backend.peer.data.blob_cache import BlobCache
from backend.peer.mesh.byzantine.public_shards import PublicShards
from backend.peer.mesh.weight_transfer import WeightTransfer
from backend.server.tasks.bundle_store import check_bundle
from backend.wire.peer_messages import Fetch, PeerFrame, Weights
from tests.support.peer.linked_peers import Member, company, until
from tests.support.tasks import tiny_task

SHARD, PRIVATE = bytes(range(256)) * 4000, b"a blob of the server that is no shard"
# So many of the tiny task have more bytes than the shard.
EXAMPLES = 100_000
# Nothing listens there.
NOWHERE = "http://127.0.0.1:9"


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class Holder:
    """A member with a cache of its own."""

    def __init__(self, member: Member, cache: BlobCache, manifest: Manifest) -> None:
        self.client, self.cache = member.own.client, cache
        self.is_away = True
        self.transfer = WeightTransfer(member.links, self.find, asyncio.create_task)
        self.manifest: Manifest | None = manifest
        self.shards = PublicShards(
            cache,
            self.transfer,
            member.links,
            lambda: self.is_away,
            {sha256(SHARD): EXAMPLES}.get,
            self.loaded,
        )
        member.received = self.received  # type: ignore[method-assign]

    def loaded(self) -> Manifest:
        """Returns the manifest of its bundle, as `TrainingJobs` does."""
        if self.manifest is None:
            raise PeerError("No bundle is loaded yet.")
        return self.manifest

    async def find(self, sha256: str) -> bytes | None:
        """Returns what it gives to others."""
        return await self.shards.find(sha256)

    def received(self, client: str, frame: PeerFrame) -> None:
        if isinstance(frame, Fetch):
            self.transfer.requested(client, frame)
        elif isinstance(frame, Weights):
            self.transfer.chunk_received(client, frame)


@asynccontextmanager
async def holders(folder: Path) -> AsyncIterator[list[Holder]]:
    """Three linked members of the tiny task."""
    manifest = check_bundle(tiny_task.write_task(folder / "tiny") / "bundle", frozenset(tiny_task.OPS))
    async with company(folder, [("websocket",)] * 3, [True] * 3) as members, httpx.AsyncClient() as client:
        await until(lambda: all(len(one.links.linked()) == 2 for one in members))
        caches = [BlobCache(client, NOWHERE, folder / one.own.client / "cache") for one in members]
        yield [Holder(one, cache, manifest) for one, cache in zip(members, caches, strict=True)]


async def test_a_shard_comes_from_who_has_it_and_is_kept(tmp_path: Path) -> None:
    async with holders(tmp_path) as (one, _, three):
        await three.cache.keep(sha256(SHARD), SHARD)
        assert await one.shards.get(sha256(SHARD)) == SHARD
        assert await one.cache.find(sha256(SHARD)) == SHARD


async def test_a_member_whose_bundle_is_not_loaded_yet_gives_a_shard_all_the_same(tmp_path: Path) -> None:
    async with holders(tmp_path) as (one, _, three):
        await three.cache.keep(sha256(SHARD), SHARD)
        three.manifest = None
        assert await one.shards.get(sha256(SHARD)) == SHARD


async def test_while_the_server_is_there_nobody_else_is_asked(tmp_path: Path) -> None:
    async with holders(tmp_path) as (one, _, three):
        await three.cache.keep(sha256(SHARD), SHARD)
        one.is_away = False
        with pytest.raises(UnreachableError):
            await one.shards.get(sha256(SHARD))


async def test_who_lacks_a_shard_that_nobody_has_says_that_the_server_is_away(tmp_path: Path) -> None:
    async with holders(tmp_path) as (one, *_):
        with pytest.raises(UnreachableError, match="does not answer"):
            await one.shards.get(sha256(SHARD))


async def test_other_blobs_are_neither_asked_for_nor_given(tmp_path: Path) -> None:
    async with holders(tmp_path) as (one, two, _):
        await two.cache.keep(sha256(PRIVATE), PRIVATE)
        assert await two.shards.find(sha256(PRIVATE)) is None
        with pytest.raises(UnreachableError):
            await one.shards.get(sha256(PRIVATE))
        assert await one.transfer.fetch(sha256(PRIVATE), len(PRIVATE), [two.client]) is None
