"""What every implementation of Blobs must do. Subclasses give the fixture `blobs`."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from backend.errors import NotFoundError
from backend.stores.contracts import Blobs

DATA = bytes(range(256)) * 5000


class BlobsContract:
    """The tests."""

    async def test_bytes_come_back_under_their_hash(self, blobs: Blobs) -> None:
        address = await blobs.put(DATA)
        assert address == hashlib.sha256(DATA).hexdigest()
        assert await blobs.read(address) == await blobs.read(address, verify=True) == DATA
        assert (await blobs.path(address)).read_bytes() == DATA

    async def test_the_same_bytes_have_one_address(self, blobs: Blobs, tmp_path: Path) -> None:
        (tmp_path / "file").write_bytes(DATA)
        assert await blobs.put(DATA) == await blobs.put(DATA) == await blobs.put_file(tmp_path / "file")
        assert (tmp_path / "file").read_bytes() == DATA

    async def test_nothing_is_something_too(self, blobs: Blobs) -> None:
        assert await blobs.read(await blobs.put(b"")) == b""

    @pytest.mark.parametrize(
        "address", ["0" * 64, "", "../../etc/passwd", "A" * 64, "0" * 63, "0" * 65, "0" * 64 + "\n", "/" * 64]
    )
    async def test_what_is_not_there_is_not_found(self, blobs: Blobs, address: str) -> None:
        for ask in (blobs.read, blobs.path):
            with pytest.raises(NotFoundError):
                await ask(address)
