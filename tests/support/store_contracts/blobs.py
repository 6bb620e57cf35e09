"""Tests that every implementation of Blobs must pass. Subclasses provide the fixture `blobs`."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from backend.errors import NotFoundError
from backend.stores.contracts import BlobStore

DATA = bytes(range(256)) * 5000


class BlobsContract:
    """The contract's tests."""

    async def test_bytes_come_back_under_their_hash(self, blobs: BlobStore) -> None:
        address = await blobs.put(DATA)
        assert address == hashlib.sha256(DATA).hexdigest()
        assert await blobs.read(address) == await blobs.read(address, verify=True) == DATA
        assert (await blobs.path(address)).read_bytes() == DATA

    async def test_the_same_bytes_have_one_address(self, blobs: BlobStore, tmp_path: Path) -> None:
        (tmp_path / "file").write_bytes(DATA)
        assert await blobs.put(DATA) == await blobs.put(DATA) == await blobs.put_file(tmp_path / "file")
        assert (tmp_path / "file").read_bytes() == DATA

    async def test_nothing_is_something_too(self, blobs: BlobStore) -> None:
        assert await blobs.read(await blobs.put(b"")) == b""

    @pytest.mark.parametrize(
        "address", ["0" * 64, "", "../../etc/passwd", "A" * 64, "0" * 63, "0" * 65, "0" * 64 + "\n", "/" * 64]
    )
    async def test_what_is_not_there_is_not_found(self, blobs: BlobStore, address: str) -> None:
        for ask in (blobs.read, blobs.path):
            with pytest.raises(NotFoundError):
                await ask(address)

    async def test_a_blob_is_dropped_once(self, blobs: BlobStore) -> None:
        address = await blobs.put(DATA)
        assert await blobs.drop([address, "0" * 64]) == len(DATA)
        assert await blobs.drop([address]) == 0
        with pytest.raises(NotFoundError):
            await blobs.read(address)
        assert await blobs.put(DATA) == address

    async def test_what_is_being_recorded_is_not_dropped(self, blobs: BlobStore) -> None:
        there = await blobs.put(DATA)
        with blobs.writing() as writing:
            assert await writing.put(DATA) == there
            fresh = await writing.put(b"fresh")
            assert await blobs.drop([there, fresh]) == await blobs.sweep([]) == 0
            assert await blobs.read(there) == DATA
        assert await blobs.drop([there, fresh]) == len(DATA) + 5

    async def test_parts_of_tasks_are_not_dropped(self, blobs: BlobStore, tmp_path: Path) -> None:
        (tmp_path / "file").write_bytes(DATA)
        address = await blobs.put_file(tmp_path / "file")
        assert await blobs.drop([address]) == await blobs.sweep([]) == 0
        assert await blobs.read(address) == DATA

    async def test_a_sweep_leaves_what_is_named(self, blobs: BlobStore) -> None:
        kept, orphan = await blobs.put(DATA), await blobs.put(b"orphan")
        assert await blobs.sweep([kept, "0" * 64]) == 6
        assert await blobs.read(kept) == DATA
        with pytest.raises(NotFoundError):
            await blobs.path(orphan)

    async def test_a_check_leaves_nothing(self, blobs: BlobStore) -> None:
        await blobs.check()
        assert await blobs.sweep([]) == 0

    async def test_parts_are_dropped_once_they_are_released(self, blobs: BlobStore, tmp_path: Path) -> None:
        (tmp_path / "file").write_bytes(DATA)
        address = await blobs.put_file(tmp_path / "file")
        with blobs.writing() as writing:
            held = await writing.put(b"held")
            assert await blobs.release({address, held, "0" * 64}) == len(DATA)
            assert await blobs.read(held) == b"held"
        with pytest.raises(NotFoundError):
            await blobs.read(address)
