"""Data shards of a task, checked and, where they are for clients, copied into the blob store."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from backend.errors import BundleError
from backend.services.manifest import Hash, Manifest, Size
from backend.services.shardfile import decode_shard
from backend.stores.blobs import file_sha256
from backend.stores.contracts import Blobs


class ShardFile(Struct, frozen=True, forbid_unknown_fields=True):
    """One shard in shards.json."""

    file: Annotated[str, Meta(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]*\Z")]
    sha256: Hash
    examples: Annotated[int, Meta(ge=1)]
    bytes: Size


class ShardIndex(Struct, frozen=True, forbid_unknown_fields=True):
    """shards.json."""

    train: Annotated[list[ShardFile], Meta(min_length=1, max_length=100_000)]
    holdout: list[ShardFile] = []


@dataclass(frozen=True)
class Shards:
    """Shards for clients, in the blob store, and files of held-out ones, which are not."""

    train: tuple[ShardFile, ...]
    holdout: tuple[Path, ...]

    @property
    def examples(self) -> int:
        """Number of training examples."""
        return sum(shard.examples for shard in self.train)


async def store_shards(folder: Path, manifest: Manifest, blobs: Blobs) -> Shards:
    """Checks the shards in `folder` against shards.json and the model, and copies those for training.

    Raises BundleError when a file is missing, differs from its hash, or does not fit the model's input.
    """
    index = await asyncio.to_thread(check_shards, folder, manifest)
    for shard in index.train:
        if await blobs.put_file(folder / shard.file) != shard.sha256:
            raise BundleError(f"{folder / shard.file} changed while it was read; start again.")
    return Shards(tuple(index.train), tuple((folder / shard.file).resolve() for shard in index.holdout))


def check_shards(folder: Path, manifest: Manifest) -> ShardIndex:
    """shards.json of `folder`, all of whose shards were found good. Raises BundleError."""
    try:
        index = msgspec.json.decode((folder / "shards.json").read_bytes(), type=ShardIndex)
        for shard in (*index.train, *index.holdout):
            _check_shard(folder / shard.file, shard, manifest)
    except OSError as error:
        raise BundleError(
            f"The shards in {folder} cannot be read: {error}. Run `minga build` first."
        ) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BundleError(f"The shards in {folder} are damaged: {error}. Build them again.") from error
    return index


def _check_shard(path: Path, shard: ShardFile, manifest: Manifest) -> None:
    if path.stat().st_size != shard.bytes or file_sha256(path) != shard.sha256:
        raise BundleError(f"{path} differs from what shards.json says; build the shards again.")
    try:
        content = decode_shard(path.read_bytes(), manifest)
    except BundleError as error:
        raise BundleError(f"{path}: {error}") from error
    if len(content.sample_weight) != shard.examples:
        raise BundleError(f"{path} and shards.json count different examples; build the shards again.")
