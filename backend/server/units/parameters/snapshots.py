"""The snapshot store: temporary files of the weights that leases start from."""

from __future__ import annotations

import asyncio
import hashlib
import shutil
from collections.abc import Hashable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from backend.numerics.vectors import Vector, to_bytes
from backend.stores.error_translation import translated


@dataclass
class _Snapshot:
    weights: Vector | None
    users: set[Hashable] = field(default_factory=set)
    address: str | None = None
    writing: asyncio.Task[str] | None = None


class SnapshotStore:
    """Owns a folder of weights, one file per base that is in use. All methods run in one event loop.

    The files need not survive a crash, because leases do not either.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._bases: dict[int, _Snapshot] = {}
        self._base_of_user: dict[Hashable, int] = {}
        self._paths: dict[str, Path] = {}

    def __len__(self) -> int:
        return len(self._bases)

    def hold(self, user: Hashable, base: int, weights: Vector) -> None:
        """Holds the weights of `base` until `user` releases them, or holds another base."""
        if self._base_of_user.get(user) == base:
            return
        self.release(user)
        self._base_of_user[user] = base
        self._bases.setdefault(base, _Snapshot(weights)).users.add(user)

    def hold_too(self, user: Hashable, base: int) -> None:
        """Holds the weights of a base that another user holds. Raises KeyError if none does."""
        self._bases[base].users.add(user)
        self._base_of_user[user] = base

    def release(self, user: Hashable) -> None:
        """Releases the weights of a user; the last user's release deletes the file."""
        base = self._base_of_user.pop(user, None)
        if base is None:
            return
        snapshot = self._bases[base]
        snapshot.users.discard(user)
        if not snapshot.users:
            del self._bases[base]
            if snapshot.address is not None:
                self._forget(snapshot.address)

    async def address(self, base: int) -> str:
        """Returns the SHA-256 of the weights of a held base, and writes them into a file first.

        Raises KeyError if no user holds the base, and StoreError.
        """
        snapshot = self._bases[base]
        if snapshot.address is None:
            if snapshot.writing is None:
                snapshot.writing = asyncio.create_task(self._write(base, snapshot))
            return await asyncio.shield(snapshot.writing)
        return snapshot.address

    async def read(self, base: int) -> Vector:
        """Returns the weights of a held base. Raises KeyError."""
        snapshot = self._bases[base]
        if snapshot.weights is not None:
            return snapshot.weights
        path = self._paths[snapshot.address or ""]
        return await asyncio.to_thread(lambda: np.fromfile(path, "<f4"))

    def path(self, address: str) -> Path | None:
        """Returns the file with this SHA-256; None if it does not exist."""
        return self._paths.get(address)

    def close(self) -> None:
        """Deletes all files."""
        shutil.rmtree(self._folder, ignore_errors=True)

    async def _write(self, base: int, snapshot: _Snapshot) -> str:
        weights = snapshot.weights
        assert weights is not None  # noqa: S101 - released only after the write.
        try:
            address = await asyncio.to_thread(self._store, base, weights)
        finally:
            snapshot.writing = None
        path = self._folder / address
        if self._bases.get(base) is not snapshot:
            # The base was released during the write; another base may have the same weights.
            if address not in self._paths:
                path.unlink(missing_ok=True)
            return address
        snapshot.address, snapshot.weights = address, None
        self._paths[address] = path
        return address

    def _store(self, base: int, weights: Vector) -> str:
        data = to_bytes(weights)
        address = hashlib.sha256(data).hexdigest()
        with translated(f"Weights cannot be written into {self._folder}"):
            self._folder.mkdir(parents=True, exist_ok=True)
            temporary = self._folder / f"new-{base}"
            temporary.write_bytes(data)
            temporary.replace(self._folder / address)
        return address

    def _forget(self, address: str) -> None:
        if any(snapshot.address == address for snapshot in self._bases.values()):
            return
        path = self._paths.pop(address, None)
        if path is not None:
            path.unlink(missing_ok=True)
