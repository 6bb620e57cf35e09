"""The bundle's model.keras: the owner's own file, or Keras 3's of a model that came in another format."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

# The earliest moment that a zip file can name: the same model gives the same bytes on every day.
EPOCH = (1980, 1, 1, 0, 0, 0)


def save_model(model: Any, source: Path, target: Path) -> None:
    """Copy `source` to `target` where Keras 3 wrote it, else save `model`, which was loaded from it."""
    if model.minga_own_file:
        shutil.copyfile(source, target)
    else:
        write_keras(model, target)


def write_keras(model: Any, target: Path) -> None:
    """Save `model`, which load_model() gave, to `target` as Keras 3 does, its recurrent layers rolled up."""
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
    """The configuration with 0, 1, ... for the addresses in memory by which Keras marks shared objects."""
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
