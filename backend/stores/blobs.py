"""Blobs in files, `<root>/<first two digits>/<sha256>`."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import BinaryIO

from backend.errors import NotFoundError, StoreError
from backend.formats.file_hash import file_sha256
from backend.stores.error_translation import translated

ADDRESS = re.compile(r"[0-9a-f]{64}")
_ASIDE = "new-"
_BLOCK = 1 << 20


class FileBlobs:
    """The embedded `Blobs`: one file each, written aside and renamed, so that none is ever half there.

    `_guard` keeps a drop apart from the moments in which a put finds its blob there already.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._guard = Lock()
        self._parts: set[str] = set()
        self._writings: list[FileWriting] = []
        with translated(f"The folder {root} cannot be made"):
            root.mkdir(parents=True, exist_ok=True)

    async def put(self, data: bytes | memoryview) -> str:
        """See Blobs."""
        return await asyncio.to_thread(self._store_bytes, data, None)

    async def put_file(self, path: Path) -> str:
        """See Blobs."""
        return await asyncio.to_thread(self._store_file, path)

    @contextmanager
    def writing(self) -> Iterator[FileWriting]:
        """See Blobs."""
        writing = FileWriting(self._store_bytes)
        with self._guard:
            self._writings.append(writing)
        try:
            yield writing
        finally:
            with self._guard:
                self._writings.remove(writing)

    async def read(self, address: str, verify: bool = False) -> bytes:
        """See Blobs."""
        path = await self.path(address)
        return await asyncio.to_thread(self._read, path, address, verify)

    async def path(self, address: str) -> Path:
        """See Blobs."""
        if not ADDRESS.fullmatch(address):
            raise NotFoundError("An address is 64 lower-case hexadecimal digits.")
        path = self._place(address)
        if not path.is_file():  # Faster than asking a thread.
            raise NotFoundError(f"There is nothing at the address {address}.")
        return path

    async def drop(self, addresses: Iterable[str]) -> int:
        """See Blobs."""
        return await asyncio.to_thread(self._drop, list(addresses))

    async def release(self, addresses: Collection[str]) -> int:
        """See Blobs."""
        with self._guard:
            self._parts.difference_update(addresses)
        return await self.drop(addresses)

    async def sweep(self, keep: Collection[str]) -> int:
        """See Blobs."""
        return await asyncio.to_thread(self._sweep, keep)

    async def check(self) -> None:
        """See Blobs."""
        await asyncio.to_thread(self._check)

    def _place(self, address: str) -> Path:
        return self._root / address[:2] / address

    def _store_bytes(self, data: bytes | memoryview, held: set[str] | None) -> str:
        address = hashlib.sha256(data).hexdigest()

        def write(file: BinaryIO) -> str:
            file.write(data)
            return address

        return self._store(address, write, held)

    def _store_file(self, path: Path) -> str:
        def write(file: BinaryIO) -> str:
            digest = hashlib.sha256()
            for block in _blocks(path):
                digest.update(block)
                file.write(block)
            return digest.hexdigest()

        with translated(f"The file {path} cannot be stored"):
            return self._store(file_sha256(path), write, self._parts)

    def _store(self, address: str, write: Callable[[BinaryIO], str], held: set[str] | None) -> str:
        """Writes aside, then moves to the address that the bytes had when they were written."""
        held = set() if held is None else held
        with translated(f"Nothing can be written under {self._root}"):
            if self._is_there(address, held):
                return address
            with self._aside() as (aside, handle):
                with os.fdopen(handle, "wb") as file:
                    address = write(file)
                    file.flush()
                    os.fsync(file.fileno())
                self._move(aside, address, held)
        return address

    def _is_there(self, address: str, held: set[str]) -> bool:
        """Whether the blob is there and sound; a damaged one is written anew."""
        place = self._place(address)
        with self._guard:
            if not place.is_file():
                return False
            held.add(address)
        return file_sha256(place) == address

    @contextmanager
    def _aside(self) -> Iterator[tuple[Path, int]]:
        handle, name = tempfile.mkstemp(dir=self._root, prefix=_ASIDE)
        try:
            yield Path(name), handle
        finally:
            Path(name).unlink(missing_ok=True)

    def _move(self, aside: Path, address: str, held: set[str]) -> None:
        place = self._place(address)
        if not place.parent.is_dir():
            place.parent.mkdir(exist_ok=True)
            _sync_folder(self._root)
        with self._guard:
            aside.replace(place)
            held.add(address)
        _sync_folder(place.parent)

    def _read(self, path: Path, address: str, verify: bool) -> bytes:
        with translated(f"The blob {address} cannot be read"):
            data = path.read_bytes()
        if verify and hashlib.sha256(data).hexdigest() != address:
            raise StoreError(
                f"The blob {address} is damaged. Restore {path} from a backup of the data folder; "
                "if it belongs to a task's bundle or shards, deleting it is enough."
            )
        return data

    def _drop(self, addresses: Iterable[str]) -> int:
        freed = 0
        for address in addresses:
            with self._guard, translated(f"The blob {address} cannot be deleted"):
                if not self._is_held(address):
                    freed += _delete(self._place(address))
        return freed

    def _is_held(self, address: str) -> bool:
        return address in self._parts or any(address in writing.held for writing in self._writings)

    def _sweep(self, keep: Collection[str]) -> int:
        with translated(f"The folder {self._root} cannot be cleaned"):
            freed = sum(_delete(aside) for aside in self._root.glob(f"{_ASIDE}*"))
            found = [place.name for place in self._root.glob("??/*") if ADDRESS.fullmatch(place.name)]
        return freed + self._drop(address for address in found if address not in keep)

    def _check(self) -> None:
        doing = f"Nothing can be written under {self._root}"
        with translated(doing), self._aside() as (_, handle), os.fdopen(handle, "wb") as file:
            file.write(bytes(1 << 16))
            file.flush()
            os.fsync(file.fileno())


class FileWriting:
    """Implements Writing."""

    def __init__(self, store: Callable[[bytes | memoryview, set[str]], str]) -> None:
        self._store = store
        self.held: set[str] = set()

    async def put(self, data: bytes | memoryview) -> str:
        """See Writing."""
        return await asyncio.to_thread(self._store, data, self.held)


def _blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        yield from iter(lambda: file.read(_BLOCK), b"")


def _delete(path: Path) -> int:
    """Number of bytes freed; 0 where there is nothing."""
    try:
        size = path.stat().st_size
        path.unlink()
    except FileNotFoundError:
        return 0
    return size


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":
        return  # Windows has no handle of a folder to flush.
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
