"""Writes the bundle's model.keras: the owner's own file, or a converted model saved by Keras 3."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

# The earliest time that a zip file can hold; a fixed time makes the bytes the same on every day.
EPOCH = (1980, 1, 1, 0, 0, 0)


def save_model(model: Any, source: Path, target: Path) -> None:
    """Copies `source` to `target` if Keras 3 wrote it; otherwise saves `model`, loaded from it."""
    if model.minga_own_file:
        shutil.copyfile(source, target)
    else:
        write_keras(model, target)


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
