"""Blobs in files, `<root>/<first two digits>/<sha256>`."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from backend.errors import NotFoundError, StoreError
from backend.stores.translate import translated

ADDRESS = re.compile(r"[0-9a-f]{64}")
_BLOCK = 1 << 20


class FileBlobs:
    """The embedded `Blobs`: one file each, written aside and renamed, so that none is ever half there."""

    def __init__(self, root: Path) -> None:
        self._root = root
        with translated(f"The folder {root} cannot be made"):
            root.mkdir(parents=True, exist_ok=True)

    async def put(self, data: bytes) -> str:
        """See Blobs."""
        address = hashlib.sha256(data).hexdigest()
        return await asyncio.to_thread(self._store, address, len(data), (data,))

    async def put_file(self, path: Path) -> str:
        """See Blobs."""
        return await asyncio.to_thread(self._store_file, path)

    async def read(self, address: str, verify: bool = False) -> bytes:
        """See Blobs."""
        path = await self.path(address)
        return await asyncio.to_thread(self._read, path, address, verify)

    async def path(self, address: str) -> Path:
        """See Blobs."""
        if not ADDRESS.fullmatch(address):
            raise NotFoundError("An address is 64 lower-case hexadecimal digits.")
        path = self._place(address)
        if not await asyncio.to_thread(path.is_file):
            raise NotFoundError(f"There is nothing at the address {address}.")
        return path

    def _place(self, address: str) -> Path:
        return self._root / address[:2] / address

    def _store_file(self, path: Path) -> str:
        with translated(f"The file {path} cannot be stored"):
            return self._store(file_sha256(path), path.stat().st_size, _blocks(path))

    def _store(self, address: str, size: int, blocks: Iterable[bytes]) -> str:
        """Writes aside, then moves to the address that the bytes turned out to have."""
        place = self._place(address)
        if place.is_file() and place.stat().st_size == size:
            return address
        with translated(f"Nothing can be written under {self._root}"):
            handle, name = tempfile.mkstemp(dir=self._root, prefix="new-")
            aside = Path(name)
            try:
                with os.fdopen(handle, "wb") as file:
                    digest = hashlib.sha256()
                    for block in blocks:
                        digest.update(block)
                        file.write(block)
                    file.flush()
                    os.fsync(file.fileno())
                address = digest.hexdigest()
                self._move(aside, self._place(address))
                return address
            finally:
                aside.unlink(missing_ok=True)

    def _move(self, aside: Path, place: Path) -> None:
        if not place.parent.is_dir():
            place.parent.mkdir(exist_ok=True)
            _sync_folder(self._root)
        aside.replace(place)
        _sync_folder(place.parent)

    def _read(self, path: Path, address: str, verify: bool) -> bytes:
        with translated(f"The blob {address} cannot be read"):
            data = path.read_bytes()
        if verify and hashlib.sha256(data).hexdigest() != address:
            raise StoreError(
                f"The blob {address} is damaged. Delete {path} and start again, or restore the data folder."
            )
        return data


def file_sha256(path: Path) -> str:
    """SHA-256 of a file, read in blocks."""
    digest = hashlib.sha256()
    for block in _blocks(path):
        digest.update(block)
    return digest.hexdigest()


def _blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        yield from iter(lambda: file.read(_BLOCK), b"")


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":
        return  # Windows has no handle of a folder to flush.
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
