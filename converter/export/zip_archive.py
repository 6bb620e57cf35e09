"""A folder in a zip: the same files give the same bytes on every day."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

from converter.bundle.keras_model_file import EPOCH


def archive(folder: Path, target: Path) -> Path:
    """Everything below `folder` as the zip `target`, without the folder's own name; returns `target`."""
    with zipfile.ZipFile(target, "w") as packed:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            entry = zipfile.ZipInfo(path.relative_to(folder).as_posix(), EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            with path.open("rb") as file, packed.open(entry, "w", force_zip64=True) as place:
                shutil.copyfileobj(file, place)
    return target
