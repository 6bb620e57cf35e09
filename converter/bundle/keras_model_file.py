"""Writes the bundle's model.keras: what Keras reads of the owner's file, or a converted model."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

# All that Keras reads of a file whose layers have no assets; layers with assets are refused.
MEMBERS = ("config.json", "metadata.json", "model.weights.h5")
# What Keras itself writes into metadata.json.
_METADATA = ("keras_version", "date_saved")
# The earliest time that a zip file can hold; a fixed time makes the bytes the same on every day.
EPOCH = (1980, 1, 1, 0, 0, 0)


def save_model(model: Any, source: Path, target: Path) -> None:
    """Copies what Keras reads of `source` if Keras 3 wrote it; otherwise saves `model`, loaded from it."""
    if model.minga_own_file:
        _copy_members(source, target)
    else:
        write_keras(model, target)


def _copy_members(source: Path, target: Path) -> None:
    """Writes MEMBERS of the zip `source` alone: no other files, comments, times or bytes around them."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in MEMBERS:
            if name not in old.namelist():
                continue
            if name == "metadata.json":
                metadata = json.loads(old.read(name))
                kept = {key: str(metadata[key])[:64] for key in _METADATA if key in metadata}
                new.writestr(zipfile.ZipInfo(name, EPOCH), json.dumps(kept))
                continue
            with (
                old.open(name) as packed,
                new.open(zipfile.ZipInfo(name, EPOCH), "w", force_zip64=True) as copy,
            ):
                shutil.copyfileobj(packed, copy)


def write_keras(model: Any, target: Path) -> None:
    """Saves `model`, from load_model(), to `target` in Keras 3's format, recurrent layers as loops."""
    draft = target.with_suffix(".draft.keras")
    for layer in model.minga_unrolled:
        layer.unroll = False
    model.save(draft)
    for layer in model.minga_unrolled:
        layer.unroll = True
    with zipfile.ZipFile(draft) as old, zipfile.ZipFile(target, "w") as new:
        for name in sorted(old.namelist()):
            content = old.read(name)
            if name == "metadata.json":
                metadata = {k: v for k, v in json.loads(content).items() if k != "date_saved"}
                content = json.dumps(metadata).encode()
            if name == "config.json":
                content = json.dumps(_numbered(json.loads(content), {})).encode()
            new.writestr(zipfile.ZipInfo(name, EPOCH), content)
    draft.unlink()


def _numbered(node: Any, numbers: dict[int, int]) -> Any:
    """Replaces the memory addresses by which Keras marks shared objects with 0, 1, ..."""
    if isinstance(node, list):
        return [_numbered(child, numbers) for child in node]
    if not isinstance(node, dict):
        return node
    return {
        key: numbers.setdefault(value, len(numbers))
        if key == "shared_object_id"
        else _numbered(value, numbers)
        for key, value in node.items()
    }
