"""Files that were made and may be wanted again, in a folder that stays below a size."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from backend.formats.file_hash import file_sha256
from backend.stores.error_translation import translated

_ASIDE = "making-"


@dataclass(frozen=True)
class CachedFile:
    """A file, its hash and its length."""

    path: Path
    sha256: str
    bytes: int


class FileCache:
    """Owns `folder`: `<key>/<sha256>` for each file. What was wanted last is kept longest.

    All methods may block, and raise StoreError where the disk fails.
    """

    def __init__(self, folder: Path, most_bytes: int) -> None:
        self._folder = folder
        self._most = most_bytes

    def open(self) -> None:
        """Makes the folder, and deletes what a killed server left behind."""
        with translated(f"The folder {self._folder} cannot be made"):
            self._folder.mkdir(parents=True, exist_ok=True)
            for left in self._folder.glob(f"{_ASIDE}*"):
                shutil.rmtree(left, ignore_errors=True)

    def find(self, key: str) -> CachedFile | None:
        """The file of `key`, which is wanted just now; None if there is none."""
        for path in self._place(key).glob("*"):
            with translated(f"{path} cannot be read"):
                _touch(path.parent)
                return CachedFile(path, path.name, path.stat().st_size)
        return None

    @contextmanager
    def aside(self) -> Iterator[Path]:
        """A folder to make a file in, which is gone at the end."""
        with (
            translated(f"Nothing can be written into {self._folder}"),
            tempfile.TemporaryDirectory(prefix=_ASIDE, dir=self._folder) as folder,
        ):
            yield Path(folder)

    def take(self, key: str, file: Path) -> CachedFile:
        """Moves a file that was made aside to its place, and deletes old ones where there are too many."""
        sha256, place = file_sha256(file), self._place(key)
        with translated(f"Nothing can be written into {self._folder}"):
            whole = file.parent / f"{file.name}-whole"
            whole.mkdir()
            file.rename(whole / sha256)
            shutil.rmtree(place, ignore_errors=True)
            whole.rename(place)
            _touch(place)
            made = CachedFile(place / sha256, sha256, (place / sha256).stat().st_size)
            self._let_go(keep=place)
        return made

    def _place(self, key: str) -> Path:
        return self._folder / hashlib.sha256(key.encode()).hexdigest()[:32]

    def _let_go(self, keep: Path) -> None:
        """Deletes those that were wanted longest ago; `keep` stays, however large it is."""
        places = [place for place in self._folder.iterdir() if not place.name.startswith(_ASIDE)]
        places.sort(key=lambda place: place.stat().st_mtime)
        size = sum(_size(place) for place in places)
        for place in places:
            if size <= self._most:
                return
            if place != keep:
                size -= _size(place)
                shutil.rmtree(place, ignore_errors=True)


def _touch(place: Path) -> None:
    """Notes that it is wanted now, to the nanosecond: the system's own note is good to milliseconds."""
    now = time.time_ns()
    os.utime(place, ns=(now, now))


def _size(place: Path) -> int:
    return sum(path.stat().st_size for path in place.iterdir())
