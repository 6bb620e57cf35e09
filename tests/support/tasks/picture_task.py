"""Writes tiny tasks whose examples are small pictures of one colour each."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import msgspec
import numpy as np

from backend.server.tasks.task import Task, load_task
from backend.stores.contracts import BlobStore
from tests.support.tasks.tiny_task import OPS, write_task

SIDE = 4
RED, GREEN, BLUE = (250, 0, 0), (0, 250, 0), (0, 0, 250)
Colour = tuple[int, int, int]
PREPROCESS = f'{{ kind = "image", size = [{SIDE}, {SIDE}], classes = ["a", "b"] }}'


def write_pictures(
    folder: Path,
    train: Sequence[Sequence[Colour]] = ((RED, GREEN), (RED, GREEN)),
    held_out: Sequence[Sequence[Colour]] = ((BLUE, BLUE),),
    preprocess: str = PREPROCESS,
    ethics: Mapping[str, str | bool] = MappingProxyType({}),
) -> Path:
    """Writes a task with a shard for each sequence of colours, of the classes 0, 1, 0 and so on."""
    write_task(folder)
    bundle = folder / "bundle" / "bundle.json"
    manifest = json.loads(bundle.read_text("utf-8"))
    manifest["inputs"][0]["shape"] = [SIDE, SIDE, 3]
    bundle.write_text(json.dumps(manifest), "utf-8")
    index = {
        "train": [picture_shard(folder / "shards", f"t{n}", one) for n, one in enumerate(train)],
        "holdout": [picture_shard(folder / "shards", f"h{n}", one) for n, one in enumerate(held_out)],
    }
    (folder / "shards" / "shards.json").write_text(json.dumps(index), "utf-8")
    file = folder / "task.toml"
    text = file.read_text("utf-8").replace("[coordination]", f"preprocess = {preprocess}\n[coordination]", 1)
    answers = "".join(f"{key} = {json.dumps(value)}\n" for key, value in ethics.items())
    file.write_text(f"{text}\n[ethics]\n{answers}", "utf-8")
    return folder


def volunteers_own(folder: Path) -> None:
    """Has volunteers of the task in `folder` bring pictures of their own; its shards stay where they are."""
    file = folder / "task.toml"
    text = file.read_text("utf-8").replace('source = "shards"', 'source = "volunteer"')
    file.write_text(re.sub(r"^shards(_per_client)? = .*\n", "", text, flags=re.MULTILINE), "utf-8")


def picture_shard(folder: Path, name: str, colours: Sequence[Colour]) -> dict[str, object]:
    """Writes a shard of pictures; returns its entry in shards.json."""
    count = len(colours)
    x = np.broadcast_to(np.array(colours, np.uint8)[:, None, None], (count, SIDE, SIDE, 3))
    y = np.arange(count, dtype="<i4") % 2
    content = msgspec.msgpack.encode(
        {
            "format": "minga-shard/2",
            "examples": count,
            "x": [{"dtype": "uint8", "shape": list(x.shape), "data": x.tobytes()}],
            "y": [{"dtype": "int32", "shape": [count], "data": y.tobytes()}],
        }
    )
    (folder / f"{name}.msgpack").write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    return {"file": f"{name}.msgpack", "sha256": digest, "examples": count, "bytes": len(content)}


async def loaded(folder: Path, blobs: BlobStore) -> Task:
    """Loads the task in `folder`."""
    return await load_task(folder / "task.toml", [], frozenset(OPS), blobs)
