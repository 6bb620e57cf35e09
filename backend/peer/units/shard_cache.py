"""Remembers which shards of a task are in the cache, so that the server prefers units of them."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from backend.peer.data.shared_files import write_whole
from backend.wire.fields import Hash
from backend.wire.unit_messages import MOST_HELD

_Shards = Annotated[list[Hash], Meta(max_length=MOST_HELD)]


class ShardCache:
    """The shards of the task at one address, the newest last, in a file of `folder`.

    Several peers of a machine may share both the folder and the `cache`; the last write wins.
    """

    def __init__(self, folder: Path, address: str, cache: Path) -> None:
        self._path = folder / f"{hashlib.sha256(address.encode()).hexdigest()[:32]}.json"
        self._cache = cache

    def write(self, shards: list[str]) -> None:
        """Stores the list of shards. A full disk loses only this write."""
        with suppress(OSError):
            write_whole(self._path, msgspec.json.encode(shards))

    def read(self) -> list[str]:
        """Returns the shards that are still in the cache; none without a file or for a damaged one."""
        with suppress(OSError, msgspec.DecodeError):
            shards = msgspec.json.decode(self._path.read_bytes(), type=_Shards)
            return [shard for shard in shards if (self._cache / shard).is_file()]
        return []
