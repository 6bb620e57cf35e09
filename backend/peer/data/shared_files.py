"""Writes files that peers of a machine share, atomically, and bounds the size of their folders."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

# A temporary file of this age is left from a process that was killed.
STALE_SECONDS = 3600.0


def write_whole(path: Path, content: bytes) -> None:
    """Writes a temporary file and renames it, so that no process reads half of one. Raises OSError."""
    _replace(path, content, durable=False)


def write_durably(path: Path, content: bytes) -> None:
    """Does the same, and returns when it would survive a loss of power. Raises OSError."""
    _replace(path, content, durable=True)
    if sys.platform != "win32":
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _replace(path: Path, content: bytes, *, durable: bool) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    prefix = f".{path.name}."
    _sweep(path.parent, prefix)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=prefix, delete=False) as file:
        try:
            file.write(content)
            if durable:
                file.flush()
                os.fsync(file.fileno())
            file.close()
            Path(file.name).replace(path)
        finally:
            Path(file.name).unlink(missing_ok=True)


def _sweep(folder: Path, prefix: str) -> None:
    """Removes what killed processes left: their machines may vanish often."""
    for left in folder.iterdir():
        with suppress(OSError):
            if left.name.startswith(prefix) and time.time() - left.stat().st_mtime > STALE_SECONDS:
                left.unlink(missing_ok=True)


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
