"""Stores the client's control variates (SCAFFOLD) between rounds and restarts, one file per task run."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path

import numpy as np

from backend.peer.data.shared_files import evict, write_whole
from backend.peer.training.step import Vector

FOLDER_BYTES = 2 << 30
_VERSION = 8
_DIGEST = 32


class Variates:
    """Vectors [T] by name. Owns only its folder, which several peers may share.

    A file holds the version that the last accepted update began with (8 bytes) and the values (float32), both
    little-endian, and the SHA-256 of both. A damaged or lost vector starts at zero again.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, name: str, version: int, length: int) -> Vector:
        """Returns the vector for a round from `version`: zeros where none is stored.

        A vector stored at `version` or later belongs to another run of the task, and is ignored.
        """
        stored = self._read(name)
        if stored is None or stored[0] >= version or stored[1].shape != (length,):
            return np.zeros(length, np.float32)
        return stored[1]

    def add(self, name: str, version: int, change: Vector) -> None:
        """Adds the change [T] of an accepted update from `version`. A full disk loses only this change."""
        values = self.read(name, version, len(change)) + change
        self._write(name, version, values)

    def take_back(self, name: str, version: int, change: Vector) -> None:
        """Subtracts what `add` added: the round from `version` was abandoned, and begins again."""
        stored = self._read(name)
        if stored is not None and stored[0] == version and stored[1].shape == change.shape:
            self._write(name, version - 1, stored[1] - change)

    def _read(self, name: str) -> tuple[int, Vector] | None:
        with suppress(OSError):
            content = self._path(name).read_bytes()
            body, digest = content[:-_DIGEST], content[-_DIGEST:]
            is_complete = len(body) >= _VERSION and len(body) % 4 == 0
            if is_complete and hashlib.sha256(body).digest() == digest:
                version = int.from_bytes(body[:_VERSION], "little", signed=True)
                return version, np.frombuffer(body, "<f4", offset=_VERSION)
        return None

    def _write(self, name: str, version: int, values: Vector) -> None:
        body = version.to_bytes(_VERSION, "little", signed=True) + values.astype("<f4").tobytes()
        with suppress(OSError):
            write_whole(self._path(name), body + hashlib.sha256(body).digest())
            evict(self._folder, FOLDER_BYTES)

    def _path(self, name: str) -> Path:
        return self._folder / hashlib.sha256(name.encode()).hexdigest()[:32]
