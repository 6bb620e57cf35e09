"""Files that peers of a machine share: written whole or not at all, in folders of bounded size."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Writes a temporary file first, so that nobody reads half of one. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".", delete=False) as file:
        try:
            file.write(content)
            file.close()
            Path(file.name).replace(path)
        finally:
            Path(file.name).unlink(missing_ok=True)


def evict(folder: Path, at_most: int) -> None:
    """Removes the files that were not used for longest until `folder` holds at most so many bytes."""
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
