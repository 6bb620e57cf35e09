"""Data shards of a task, checked and, where they are for clients, copied into the blob store."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from backend.errors import BundleError, DataError
from backend.formats.manifest import Hash, Manifest, Size
from backend.formats.shard_file import decode_shard
from backend.numerics.preprocess.fitted import Fitted, parse_fitted
from backend.stores.blobs import file_sha256
from backend.stores.contracts import Blobs

INDEX, PREPROCESS = "shards.json", "preprocess.json"


class ShardFile(Struct, frozen=True, forbid_unknown_fields=True):
    """One shard in shards.json; `part` is the client's part where the data were dealt out."""

    file: Annotated[str, Meta(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]*\Z")]
    sha256: Hash
    examples: Annotated[int, Meta(ge=1)]
    bytes: Size
    part: Annotated[int, Meta(ge=0, lt=10_000)] | None = None


class ShardIndex(Struct, frozen=True, forbid_unknown_fields=True):
    """shards.json; `preprocess` is the hash of preprocess.json beside it."""

    train: Annotated[list[ShardFile], Meta(max_length=100_000)]
    holdout: list[ShardFile] = []
    preprocess: Hash | None = None


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


async def store_shards(folder: Path, manifest: Manifest, blobs: Blobs, clients_measure: bool) -> Shards:
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


def check_shards(folder: Path, manifest: Manifest) -> ShardIndex:
    """shards.json of `folder`, all of whose shards were found good. Raises BundleError."""
    try:
        index = msgspec.json.decode((folder / INDEX).read_bytes(), type=ShardIndex)
        for shard in (*index.train, *index.holdout):
            _check_shard(folder / shard.file, shard, manifest)
    except OSError as error:
        raise BundleError(
            f"The shards in {folder} cannot be read: {error}. Run `minga build` or `minga shard` first."
        ) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BundleError(f"The shards in {folder} are damaged: {error}. Build them again.") from error
    return index


def read_preprocess(folder: Path, index: ShardIndex) -> Fitted | None:
    """The fitted preprocessing beside the shards, if there is one. Raises BundleError."""
    if index.preprocess is None:
        return None
    path = folder / PREPROCESS
    try:
        content = path.read_bytes()
        if hashlib.sha256(content).hexdigest() != index.preprocess:
            raise BundleError(f"{path} differs from what {INDEX} says; cut the data again.")
        return parse_fitted(content)
    except OSError as error:
        raise BundleError(f"{path} cannot be read: {error.strerror}. Cut the data again.") from error
    except DataError as error:
        raise BundleError(f"{path}: {error}") from error


def _check_shard(path: Path, shard: ShardFile, manifest: Manifest) -> None:
    if path.stat().st_size != shard.bytes or file_sha256(path) != shard.sha256:
        raise BundleError(f"{path} differs from what shards.json says; build the shards again.")
    try:
        content = decode_shard(path.read_bytes(), manifest)
    except BundleError as error:
        raise BundleError(f"{path}: {error}") from error
    if len(content.sample_weight) != shard.examples:
        raise BundleError(f"{path} and shards.json count different examples; build the shards again.")
