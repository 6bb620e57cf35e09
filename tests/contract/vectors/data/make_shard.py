"""Writes shard.json, a shard as this server cuts it: `python -m tests.contract.vectors.data.make_shard`."""

from __future__ import annotations

import base64
import json

import msgspec

from backend.formats.shard_file import StoredArray, StoredShard
from tests.contract.vectors import write


def cut() -> bytes:
    """Two examples of two bytes and a class, without weights."""
    x = StoredArray("uint8", [2, 2], bytes([1, 2, 3, 255]))
    y = StoredArray("int32", [2], bytes([7, 0, 0, 0] * 2))
    return msgspec.msgpack.encode(StoredShard("minga-shard/2", 2, [x], [y]))


def golden() -> dict[str, object]:
    """The shard's bytes, and what is in them."""
    shard = base64.b64encode(cut()).decode()
    return {"shard": shard, "x": [1, 2, 3, 255], "y": [7, 7], "sample_weight": [1, 1]}


def files() -> dict[str, str]:
    """The content of each file."""
    return {"shard.json": json.dumps(golden(), indent=1) + "\n"}


if __name__ == "__main__":
    write(files())
