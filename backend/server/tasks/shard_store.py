"""Data shards of a task, checked and, where they are for clients, copied into the blob store."""

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
    """Shards for clients, in the blob store, and files of held-out ones.

    `preprocess` is how they were made, where that is known, and how volunteers read data of their own.
    `measured` are the held-out ones again where clients measure versions on them: then they are in the blob
    store, too. `elsewhere` says that clients fetch the data from another place: these are then names of parts
    of it, and no blobs.
    """

    train: tuple[ShardFile, ...]
    holdout: tuple[Path, ...]
    preprocess: Fitted | None = None
    measured: tuple[ShardFile, ...] = ()
    elsewhere: bool = False

    @property
    def fetched(self) -> tuple[ShardFile, ...]:
        """Those of the training shards that clients fetch from this server."""
        return () if self.elsewhere else self.train

    @property
    def blobs(self) -> frozenset[str]:
        """Addresses of the shards in the blob store."""
        return frozenset(shard.sha256 for shard in (*self.train, *self.measured) if not self.elsewhere)

    @property
    def examples(self) -> int:
        """Number of training examples."""
        return sum(shard.examples for shard in self.train)

    @property
    def parts(self) -> tuple[int, ...]:
        """The part of each training shard where the data were dealt out to clients; else empty."""
        parts = [shard.part for shard in self.train if shard.part is not None]
        return tuple(parts) if len(parts) == len(self.train) else ()


async def store_shards(folder: Path, manifest: Manifest, blobs: BlobStore, clients_measure: bool) -> Shards:
    """Checks the shards in `folder` against shards.json and the model, and copies those for clients.

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
