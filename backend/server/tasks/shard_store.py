"""Checks a task's data shards, and copies those that clients fetch into the blob store."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

from backend.errors import BundleError
from backend.formats.manifest import Manifest
from backend.formats.shard_index import ShardFile, check_shards, read_preprocess
from backend.numerics.preprocess.fitted import Fitted
from backend.stores.contracts import BlobStore


@dataclass(frozen=True)
class Shards:
    """The training shards in the blob store, and the files of held-out shards.

    `preprocess` says how the shards were made, if known, and how volunteers read data of their own.
    `measured` lists the held-out shards if clients evaluate versions on them: they are then in the blob
    store, too. `from_url` says that clients fetch the data from a URL: the shards then name parts of these
    data and are no blobs.
    """

    train: tuple[ShardFile, ...]
    holdout: tuple[Path, ...]
    preprocess: Fitted | None = None
    measured: tuple[ShardFile, ...] = ()
    from_url: bool = False

    @property
    def fetched(self) -> tuple[ShardFile, ...]:
        """Returns the training shards that clients fetch from this server."""
        return () if self.from_url else self.train

    @property
    def blobs(self) -> frozenset[str]:
        """Returns the addresses of the shards in the blob store."""
        return frozenset(shard.sha256 for shard in (*self.train, *self.measured) if not self.from_url)

    @property
    def examples(self) -> int:
        """Returns the number of training examples."""
        return sum(shard.examples for shard in self.train)

    @property
    def parts(self) -> tuple[int, ...]:
        """Returns the part of each training shard if the data were partitioned among clients; else empty."""
        parts = [shard.part for shard in self.train if shard.part is not None]
        return tuple(parts) if len(parts) == len(self.train) else ()


async def store_shards(folder: Path, manifest: Manifest, blobs: BlobStore, clients_measure: bool) -> Shards:
    """Checks the shards in `folder` against shards.json and the model, and stores those for clients.

    Raises BundleError when a file is missing, differs from its hash, or does not fit the model's input.
    """
    index = await asyncio.to_thread(check_shards, folder, manifest)
    measured = tuple(index.holdout) if clients_measure else ()
    for shard in (*index.train, *measured):
        if await blobs.put_file(folder / shard.file) != shard.sha256:
            raise BundleError(f"{folder / shard.file} changed while it was read; start again.")
    holdout = tuple((folder / shard.file).resolve() for shard in index.holdout)
    fitted = await asyncio.to_thread(read_preprocess, folder, index)
    return Shards(tuple(index.train), holdout, fitted, measured)
