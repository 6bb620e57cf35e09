"""Caches files in a folder of limited size; the least recently used files are deleted first."""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from backend.formats.file_hash import file_sha256
from backend.server.sandbox.work_folder import work_folder
from backend.stores.error_translation import translated

_ASIDE = "making-"


@dataclass(frozen=True)
class CachedFile:
    """A cached file, its hash and its length."""

    path: Path
    sha256: str
    bytes: int


class FileCache:
    """Owns `folder`, with `<hash of key>/<sha256>` for each file. Evicts the least recently used files.

    All methods may block, and raise StoreError if the disk fails.
    """

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self._folder = folder
        self._max_bytes = max_bytes

    def open(self) -> None:
        """Creates the folder, and deletes unfinished files of a killed server."""
        with translated(f"The folder {self._folder} cannot be made"):
            self._folder.mkdir(parents=True, exist_ok=True)
            for unfinished in self._folder.glob(f"{_ASIDE}*"):
                shutil.rmtree(unfinished, ignore_errors=True)

    def find(self, key: str) -> CachedFile | None:
        """Returns the file of `key` and notes its use; None if there is none."""
        for path in self._place(key).glob("*"):
            with translated(f"{path} cannot be read"):
                _touch(path.parent)
                return CachedFile(path, path.name, path.stat().st_size)
        return None

    @contextmanager
    def temporary_folder(self) -> Iterator[Path]:
        """Gives a temporary folder in which to write a file."""
        with (
            translated(f"Nothing can be written into {self._folder}"),
            work_folder(self._folder, _ASIDE) as folder,
        ):
            yield folder

    def store(self, key: str, file: Path) -> CachedFile:
        """Moves a file from the temporary folder into the cache, and evicts old files over the limit."""
        sha256, place = file_sha256(file), self._place(key)
        with translated(f"Nothing can be written into {self._folder}"):
            whole = file.parent / f"{file.name}-whole"
            whole.mkdir()
            file.rename(whole / sha256)
            shutil.rmtree(place, ignore_errors=True)
            whole.rename(place)
            _touch(place)
            cached = CachedFile(place / sha256, sha256, (place / sha256).stat().st_size)
            self._evict(keep=place)
        return cached

    def _place(self, key: str) -> Path:
        return self._folder / hashlib.sha256(key.encode()).hexdigest()[:32]

    def _evict(self, keep: Path) -> None:
        """Deletes the least recently used files until the limit holds; `keep` stays, however large it is."""
        places = [place for place in self._folder.iterdir() if not place.name.startswith(_ASIDE)]
        places.sort(key=lambda place: place.stat().st_mtime)
        size = sum(_size(place) for place in places)
        for place in places:
            if size <= self._max_bytes:
                return
            if place != keep:
                size -= _size(place)
                shutil.rmtree(place, ignore_errors=True)


def _touch(place: Path) -> None:
    """Sets the time of last use in nanoseconds: the system's own resolution is milliseconds."""
    now = time.time_ns()
    os.utime(place, ns=(now, now))


def _size(place: Path) -> int:
    return sum(path.stat().st_size for path in place.iterdir())
