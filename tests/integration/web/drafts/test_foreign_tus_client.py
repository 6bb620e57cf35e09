"""A foreign client of tus, tuspy, sends a file whose connection is cut in the middle of a piece."""

from __future__ import annotations

import asyncio
import hashlib
import random
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from tusclient.client import TusClient
from tusclient.exceptions import TusUploadFailed
from tusclient.uploader.uploader import Uploader

from tests.support.environment.tcp_forwarder import cut_once
from tests.support.tasks.tiny_task import write_task
from tests.support.web.draft_client import Drafter
from tests.support.web.server_process import running
from tests.support.web.visitors import operator, program

MIB = 1 << 20
PIECE = 8 * MIB


def uploader(bob: Drafter, address: str, file: BinaryIO, **more: Any) -> Uploader:
    client = TusClient(address, headers={"Authorization": f"Bearer {bob.visitor.token}"})
    return client.uploader(file_stream=file, chunk_size=PIECE, retry_delay=0.1, **more)


@pytest.mark.parametrize("retries", [0, 50], ids=["another run goes on", "the same run goes on"])
async def test_an_upload_of_50_megabytes_that_is_cut_has_the_same_bytes(tmp_path: Path, retries: int) -> None:
    content = b"PK\x03\x04" + random.Random(retries).randbytes(50 * 1000 * 1000)
    sha256 = hashlib.sha256(content).hexdigest()
    (tmp_path / "pets.zip").write_bytes(content)
    write_task(tmp_path / "tasks" / "tiny")
    with running(tmp_path / "tasks", tmp_path / "data") as server, (tmp_path / "pets.zip").open("rb") as file:
        bob = Drafter(program(operator(server), "create"))
        draft = bob.begin("pets")
        async with cut_once(server.url, 20 * MIB) as (url, cuts):
            said = {"filename": "pets.zip", "sha256": sha256}
            first = uploader(bob, f"{url}{draft}/files/data", file, metadata=said, retries=retries)
            if retries:
                await asyncio.to_thread(first.upload)
            else:
                with pytest.raises(TusUploadFailed):
                    await asyncio.to_thread(first.upload)
                # Of the piece that was cut, what came counts once the server knows of the cut.
                again = await asyncio.to_thread(uploader, bob, "", file, url=first.url, retries=50)
                assert 2 * PIECE <= again.offset < 20 * MIB
                await asyncio.to_thread(again.upload)
            assert cuts == [True]
        shown = bob.send("GET", draft).json
        assert (shown["files"]["data"]["sha256"], shown["uploads"]) == (sha256, {})
        (kept,) = (tmp_path / "data" / "drafts").glob("*/data.zip")
        assert kept.read_bytes() == content
