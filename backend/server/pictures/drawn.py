"""Draws a task's picture from examples that this server deals out to everyone who takes part.

Nothing else is ever drawn: no volunteers' data, no held-out examples, no people that a reader could
recognise.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from backend.errors import BundleError
from backend.formats.shard_file import RawShard, decode_shard
from backend.formats.shard_index import ShardFile
from backend.server.pictures.mosaic import is_picture, mosaic, png
from backend.server.tasks.task import Task
from backend.stores.contracts import BlobStore

# Other drawings of the same examples need another number.
_DRAWING = "1"
_MOST_SHARDS, _LARGEST_SHARD = 16, 8 << 20
_KEPT = 64
# Data whose examples are pictures. Rows and texts are never shown, whatever the shape of their arrays.
_KINDS = ("image", "audio", "array")


def drawing_tag(task: Task) -> str | None:
    """Returns a name of the picture that changes with what it shows; None if nothing may be drawn."""
    shards = public_shards(task)
    if not shards:
        return None
    parts = (_DRAWING, _kind(task), *(shard.sha256 for shard in shards))
    return sha256(" ".join(parts).encode()).hexdigest()


def public_shards(task: Task) -> list[ShardFile]:
    """Returns the shards whose examples may be drawn, from all over the data; empty if there are none."""
    file, manifest = task.file, task.bundle.manifest
    shown = file.data.source == "shards" and _kind(task) in _KINDS
    private = file.ethics.people == "recognisable" or file.ethics.sensitive is True
    if not shown or private or not manifest.inputs or not is_picture(list(manifest.inputs[0].shape)):
        return []
    fetched = task.shards.fetched
    count = min(_MOST_SHARDS, len(fetched))
    some = (fetched[number * len(fetched) // count] for number in range(count))
    return [shard for shard in some if shard.bytes <= _LARGEST_SHARD]


class DrawnPictures:
    """Draws pictures when they are asked for, one at a time, and keeps the latest in memory."""

    def __init__(self, blobs: BlobStore) -> None:
        self._blobs = blobs
        self._drawn: OrderedDict[str, bytes | None] = OrderedDict()
        self._lock = asyncio.Lock()

    async def of(self, task: Task) -> bytes | None:
        """Returns the task's picture as PNG; None if there is nothing to draw. Raises NotFoundError."""
        tag = drawing_tag(task)
        if tag is None:
            return None
        async with self._lock:
            if tag not in self._drawn:
                paths = [await self._blobs.path(shard.sha256) for shard in public_shards(task)]
                self._drawn[tag] = await asyncio.to_thread(_draw, task, paths)
                while len(self._drawn) > _KEPT:
                    self._drawn.popitem(last=False)
            self._drawn.move_to_end(tag)
            return self._drawn[tag]


def _draw(task: Task, paths: list[Path]) -> bytes | None:
    kind = _kind(task)
    pixels = mosaic(_shards(task, paths), levels=kind == "image", upright=kind != "audio")
    return None if pixels is None else png(pixels)


def _shards(task: Task, paths: list[Path]) -> Iterator[RawShard]:
    for path in paths:
        # The shards were checked when the task was opened; one that is damaged since is left out.
        with suppress(OSError, BundleError):
            yield decode_shard(path.read_bytes(), task.bundle.manifest)


def _kind(task: Task) -> str:
    """Returns the kind of the task's data; arrays where the task file says nothing of it."""
    stored = task.shards.preprocess or task.file.data.preprocess
    return "array" if stored is None else str(stored.__struct_config__.tag)
