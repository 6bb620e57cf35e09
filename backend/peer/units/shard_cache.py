"""Lists the shards of a task that lie in the cache from earlier visits: their units come here first."""

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

    Several peers of a machine may share both the folder and the `cache`; who writes last is remembered.
    """

    def __init__(self, folder: Path, address: str, cache: Path) -> None:
        self._path = folder / f"{hashlib.sha256(address.encode()).hexdigest()[:32]}.json"
        self._cache = cache

    def write(self, shards: list[str]) -> None:
        """Remembers these. A full disk costs only this."""
        with suppress(OSError):
            write_whole(self._path, msgspec.json.encode(shards))

    def read(self) -> list[str]:
        """Those that are still in the cache; none without a visit, and for a file that was damaged."""
        with suppress(OSError, msgspec.DecodeError):
            shards = msgspec.json.decode(self._path.read_bytes(), type=_Shards)
            return [one for one in shards if (self._cache / one).is_file()]
        return []
