"""Stores blobs in files, `<root>/<first two digits>/<sha256>`."""

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
_TEMPORARY_PREFIX = "new-"
_BLOCK = 1 << 20


class FileBlobs:
    """The embedded `BlobStore`: one file per blob, written under a temporary name and renamed when complete.

    `_lock` prevents a drop from deleting a blob between the check of a put that it exists and its protection.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._lock = Lock()
        self._task_parts: set[str] = set()
        self._writings: list[FileWriting] = []
        with translated(f"The folder {root} cannot be made"):
            root.mkdir(parents=True, exist_ok=True)

    async def put(self, data: bytes | memoryview) -> str:
        """See BlobStore."""
        return await asyncio.to_thread(self._store_bytes, data, None)

    async def put_file(self, path: Path) -> str:
        """See BlobStore."""
        return await asyncio.to_thread(self._store_file, path)

    @contextmanager
    def writing(self) -> Iterator[FileWriting]:
        """See BlobStore."""
        writing = FileWriting(self._store_bytes)
        with self._lock:
            self._writings.append(writing)
        try:
            yield writing
        finally:
            with self._lock:
                self._writings.remove(writing)

    async def read(self, address: str, verify: bool = False) -> bytes:
        """See BlobStore."""
        path = await self.path(address)
        return await asyncio.to_thread(self._read, path, address, verify)

    async def path(self, address: str) -> Path:
        """See BlobStore."""
        if not ADDRESS.fullmatch(address):
            raise NotFoundError("An address is 64 lower-case hexadecimal digits.")
        path = self._path_of(address)
        if not path.is_file():  # Faster than asking a thread.
            raise NotFoundError(f"There is nothing at the address {address}.")
        return path

    async def drop(self, addresses: Iterable[str]) -> int:
        """See BlobStore."""
        return await asyncio.to_thread(self._drop, list(addresses))

    async def release(self, addresses: Collection[str]) -> int:
        """See BlobStore."""
        with self._lock:
            self._task_parts.difference_update(addresses)
        return await self.drop(addresses)

    async def sweep(self, keep: Collection[str]) -> int:
        """See BlobStore."""
        return await asyncio.to_thread(self._sweep, keep)

    async def check(self) -> None:
        """See BlobStore."""
        await asyncio.to_thread(self._check)

    def _path_of(self, address: str) -> Path:
        return self._root / address[:2] / address

    def _store_bytes(self, data: bytes | memoryview, protected: set[str] | None) -> str:
        address = hashlib.sha256(data).hexdigest()

        def write(file: BinaryIO) -> str:
            file.write(data)
            return address

        return self._store(address, write, protected)

    def _store_file(self, path: Path) -> str:
        def write(file: BinaryIO) -> str:
            digest = hashlib.sha256()
            for block in _blocks(path):
                digest.update(block)
                file.write(block)
            return digest.hexdigest()

        with translated(f"The file {path} cannot be stored"):
            return self._store(file_sha256(path), write, self._task_parts)

    def _store(self, address: str, write: Callable[[BinaryIO], str], protected: set[str] | None) -> str:
        """Writes a temporary file, then moves it to the address of the bytes that were written."""
        protected = set() if protected is None else protected
        with translated(f"Nothing can be written under {self._root}"):
            if self._exists_intact(address, protected):
                return address
            with self._temporary_file() as (temporary, handle):
                with os.fdopen(handle, "wb") as file:
                    address = write(file)
                    file.flush()
                    os.fsync(file.fileno())
                self._move(temporary, address, protected)
        return address

    def _exists_intact(self, address: str, protected: set[str]) -> bool:
        """Whether the blob exists and is intact; a damaged one is rewritten. Protects an existing blob."""
        path = self._path_of(address)
        with self._lock:
            if not path.is_file():
                return False
            protected.add(address)
        return file_sha256(path) == address

    @contextmanager
    def _temporary_file(self) -> Iterator[tuple[Path, int]]:
        handle, name = tempfile.mkstemp(dir=self._root, prefix=_TEMPORARY_PREFIX)
        try:
            yield Path(name), handle
        finally:
            Path(name).unlink(missing_ok=True)

    def _move(self, temporary: Path, address: str, protected: set[str]) -> None:
        path = self._path_of(address)
        if not path.parent.is_dir():
            path.parent.mkdir(exist_ok=True)
            _sync_folder(self._root)
        with self._lock:
            temporary.replace(path)
            protected.add(address)
        _sync_folder(path.parent)

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
            with self._lock, translated(f"The blob {address} cannot be deleted"):
                if not self._is_protected(address):
                    freed += _delete(self._path_of(address))
        return freed

    def _is_protected(self, address: str) -> bool:
        return address in self._task_parts or any(address in writing.protected for writing in self._writings)

    def _sweep(self, keep: Collection[str]) -> int:
        with translated(f"The folder {self._root} cannot be cleaned"):
            freed = sum(_delete(temporary) for temporary in self._root.glob(f"{_TEMPORARY_PREFIX}*"))
            addresses = [path.name for path in self._root.glob("??/*") if ADDRESS.fullmatch(path.name)]
        return freed + self._drop(address for address in addresses if address not in keep)

    def _check(self) -> None:
        doing = f"Nothing can be written under {self._root}"
        with translated(doing), self._temporary_file() as (_, handle), os.fdopen(handle, "wb") as file:
            file.write(bytes(1 << 16))
            file.flush()
            os.fsync(file.fileno())


class FileWriting:
    """Implements Writing."""

    def __init__(self, store: Callable[[bytes | memoryview, set[str]], str]) -> None:
        self._store = store
        self.protected: set[str] = set()

    async def put(self, data: bytes | memoryview) -> str:
        """See Writing."""
        return await asyncio.to_thread(self._store, data, self.protected)


def _blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        yield from iter(lambda: file.read(_BLOCK), b"")


def _delete(path: Path) -> int:
    """Deletes a file and returns the bytes freed; 0 if it does not exist."""
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
