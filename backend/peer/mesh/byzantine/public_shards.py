"""Takes data shards from other members while the server is away, and gives them to members that ask.

Any member may be drawn to work on any shard, so a mesh that continues without its server needs what its
members have fetched so far.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from backend.formats.manifest import Manifest
from backend.formats.shard_file import largest_shard
from backend.peer.data.blob_cache import LARGEST_BLOB, BlobCache
from backend.peer.mesh.weight_transfer import PeerLinks, WeightTransfer


class PublicShards:
    """Blobs of the cache and the server, and public shards of other members while `is_away` says so.

    `examples` returns how many the public shard of a hash has; None for all other blobs. `manifest` returns
    that of the loaded bundle.
    """

    def __init__(
        self,
        blobs: BlobCache,
        transfer: WeightTransfer,
        links: PeerLinks,
        is_away: Callable[[], bool],
        examples: Callable[[str], int | None],
        manifest: Callable[[], Manifest],
    ) -> None:
        self._blobs = blobs
        self._transfer = transfer
        self._links = links
        self._is_away = is_away
        self._examples = examples
        self._manifest = manifest
        # However many ask, one shard at a time is read.
        self._reading = asyncio.Lock()

    async def get(self, sha256: str, at_most: int = LARGEST_BLOB) -> bytes:
        """Returns the blob with that hash. Raises what the server's blobs raise."""
        examples = self._examples(sha256)
        # A server that is away may cost a minute before it counts as unreachable.
        if examples is not None and self._is_away() and await self._blobs.find(sha256) is None:
            largest = largest_shard(self._manifest(), examples)
            content = await self._transfer.fetch(sha256, largest, self._links.linked())
            if content is not None:
                await self._blobs.keep(sha256, content)
                return content
        return await self._blobs.get(sha256, at_most)

    async def find(self, sha256: str) -> bytes | None:
        """Returns a public shard for another member; None if it is not cached."""
        if self._examples(sha256) is None:
            return None
        async with self._reading:
            return await self._blobs.find(sha256)
