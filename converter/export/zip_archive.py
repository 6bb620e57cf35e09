"""Packs a folder into a zip file reproducibly: the same files always give the same bytes."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

from converter.bundle.keras_model_file import EPOCH


def archive(folder: Path, target: Path) -> Path:
    """Packs all files below `folder`, by paths relative to it, into `target`; returns `target`."""
    with zipfile.ZipFile(target, "w") as zip_file:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            entry = zipfile.ZipInfo(path.relative_to(folder).as_posix(), EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            with path.open("rb") as file, zip_file.open(entry, "w", force_zip64=True) as destination:
                shutil.copyfileobj(file, destination)
    return target
