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
    """Owns a folder of weights, one file for each base that somebody `holds`. All methods are of one loop.

    They need not survive a crash: leases do not either.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._bases: dict[int, _Snapshot] = {}
        self._held: dict[Hashable, int] = {}
        self._paths: dict[str, Path] = {}

    def __len__(self) -> int:
        return len(self._bases)

    def hold(self, who: Hashable, base: int, weights: Vector) -> None:
        """Keeps the weights of `base` until `who` releases them, or holds others."""
        if self._held.get(who) == base:
            return
        self.release(who)
        self._held[who] = base
        self._bases.setdefault(base, _Snapshot(weights)).users.add(who)

    def release(self, who: Hashable) -> None:
        """`who` needs them no more; the file goes with its last user."""
        base = self._held.pop(who, None)
        if base is None:
            return
        snapshot = self._bases[base]
        snapshot.users.discard(who)
        if not snapshot.users:
            del self._bases[base]
            if snapshot.address is not None:
                self._forget(snapshot.address)

    async def address(self, base: int) -> str:
        """SHA-256 of the weights of a base that is held, which lie in a file from then on.

        Raises KeyError where nobody holds it (any more), StoreError.
        """
        snapshot = self._bases[base]
        if snapshot.address is None:
            if snapshot.writing is None:
                snapshot.writing = asyncio.create_task(self._write(base, snapshot))
            return await asyncio.shield(snapshot.writing)
        return snapshot.address

    async def read(self, base: int) -> Vector:
        """The weights of a base that is held. Raises KeyError."""
        snapshot = self._bases[base]
        if snapshot.weights is not None:
            return snapshot.weights
        path = self._paths[snapshot.address or ""]
        return await asyncio.to_thread(lambda: np.fromfile(path, "<f4"))

    def path(self, address: str) -> Path | None:
        """The file with that SHA-256; None where there is none (any more)."""
        return self._paths.get(address)

    def close(self) -> None:
        """Deletes everything."""
        shutil.rmtree(self._folder, ignore_errors=True)

    async def _write(self, base: int, snapshot: _Snapshot) -> str:
        weights = snapshot.weights
        assert weights is not None  # noqa: S101 - it is let go of below.
        try:
            address = await asyncio.to_thread(self._store, base, weights)
        finally:
            snapshot.writing = None
        path = self._folder / address
        if self._bases.get(base) is not snapshot:
            # Nobody waited for it; another base may have the same weights.
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
            aside = self._folder / f"new-{base}"
            aside.write_bytes(data)
            aside.replace(self._folder / address)
        return address

    def _forget(self, address: str) -> None:
        if any(one.address == address for one in self._bases.values()):
            return
        path = self._paths.pop(address, None)
        if path is not None:
            path.unlink(missing_ok=True)
