"""Reads shards.json, the index of a folder of shards, and checks every shard it lists."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from backend.errors import BundleError, DataError
from backend.formats.file_hash import file_sha256
from backend.formats.manifest import Hash, Manifest, Size
from backend.formats.shard_file import decode_shard
from backend.numerics.preprocess.fitted import Fitted, parse_fitted

INDEX, PREPROCESS = "shards.json", "preprocess.json"


class ShardFile(Struct, frozen=True, forbid_unknown_fields=True):
    """One shard in shards.json; `part` is the client number if the data were partitioned by client."""

    file: Annotated[str, Meta(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]*\Z")]
    sha256: Hash
    examples: Annotated[int, Meta(ge=1)]
    bytes: Size
    part: Annotated[int, Meta(ge=0, lt=10_000)] | None = None


class ShardIndex(Struct, frozen=True, forbid_unknown_fields=True):
    """The content of shards.json; `preprocess` is the hash of preprocess.json in the same folder."""

    train: Annotated[list[ShardFile], Meta(max_length=100_000)]
    holdout: list[ShardFile] = []
    preprocess: Hash | None = None


def check_shards(folder: Path, manifest: Manifest) -> ShardIndex:
    """Reads shards.json of `folder` and checks all of its shards. Raises BundleError."""
    index = read_index(folder)
    try:
        for shard in (*index.train, *index.holdout):
            _check_shard(folder / shard.file, shard, manifest)
    except OSError as error:
        raise _unreadable(folder, error) from error
    return index


def read_index(folder: Path) -> ShardIndex:
    """Reads shards.json of `folder`, and none of the shards. Raises BundleError."""
    try:
        return msgspec.json.decode((folder / INDEX).read_bytes(), type=ShardIndex)
    except OSError as error:
        raise _unreadable(folder, error) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BundleError(f"The shards in {folder} are damaged: {error}. Build them again.") from error


def _unreadable(folder: Path, error: OSError) -> BundleError:
    return BundleError(
        f"The shards in {folder} cannot be read: {error}. Run `minga build` or `minga shard` first."
    )


def read_preprocess(folder: Path, index: ShardIndex) -> Fitted | None:
    """Reads the fitted preprocessing of the shards; None if the index has none. Raises BundleError."""
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
