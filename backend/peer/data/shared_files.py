"""Writes files that peers of a machine share, atomically, and bounds the size of their folders."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Writes a temporary file and renames it, so that no process reads half of one. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".", delete=False) as file:
        try:
            file.write(content)
            file.close()
            Path(file.name).replace(path)
        finally:
            Path(file.name).unlink(missing_ok=True)


def evict(folder: Path, at_most: int) -> None:
    """Removes the least recently used files until `folder` holds at most `at_most` bytes."""
    entries = []
    for path in folder.iterdir():
        with suppress(OSError):
            status = path.stat()
            entries.append((status.st_mtime, status.st_size, path))
    size = sum(entry[1] for entry in entries)
    for _, length, path in sorted(entries):
        if size <= at_most:
            return
        path.unlink(missing_ok=True)
        size -= length
