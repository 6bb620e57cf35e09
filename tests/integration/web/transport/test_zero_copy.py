"""Files over real sockets: whole, in part, to slow readers and to those who go away."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.settings import ServerLimits
from backend.web.api.blobs import part_of
from backend.web.transport.zero_copy import SENDFILE, Sender, send_file
from tests.support.tasks.tiny_task import SIZE, write_task
from tests.support.timeouts import PATIENCE
from tests.support.web.server_process import Server, running

VALUES = 3_000_000
CONTENT = np.arange(VALUES, dtype="<f4").tobytes()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("files")
    write_task(folder / "tasks" / "tiny", more=VALUES - SIZE)
    with running(folder / "tasks", folder / "data") as running_server:
        yield running_server


def weights(server: Server) -> str:
    return f"/blobs/{server.get('/api/tasks/tiny')['weights']}"


def ask(server: Server, *lines: str) -> socket.socket:
    host, _, port = server.url.removeprefix("http://").rpartition(":")
    connection = socket.create_connection((host, int(port)), timeout=PATIENCE)
    connection.sendall("\r\n".join([*lines, f"Host: {host}", "", ""]).encode())
    return connection


def descriptors(server: Server) -> int:
    return len(list(Path(f"/proc/{server.process.pid}/fd").iterdir()))


def test_one_connection_serves_files_parts_heads_and_pages_in_turn(server: Server) -> None:
    address = weights(server)
    with httpx.Client(base_url=server.url, timeout=PATIENCE) as http:
        for _ in range(3):
            assert http.get(address).content == CONTENT
            assert http.get("/healthz").text == "ok"
            assert http.get(address, headers={"Range": "bytes=4-5000003"}).content == CONTENT[4:5_000_004]
            assert http.head(address).headers["content-length"] == str(len(CONTENT))
            assert http.get(address, headers={"Range": "bytes=1-2,4-5"}).status_code == 200


def test_a_reader_that_pauses_holds_nobody_up_and_gets_every_byte(server: Server) -> None:
    slow = ask(server, f"GET {weights(server)} HTTP/1.1")
    with httpx.Client(base_url=server.url, timeout=PATIENCE) as http:
        assert http.get(weights(server)).content == CONTENT
    received = b""
    with slow:
        while not received.endswith(CONTENT[-4096:]):
            received += slow.recv(1 << 20)
    assert received.partition(b"\r\n\r\n")[2] == CONTENT


def test_readers_who_go_away_leave_nothing_open(server: Server) -> None:
    address = weights(server)
    before = descriptors(server)
    for _ in range(20):
        with ask(server, f"GET {address} HTTP/1.1") as reader:
            assert reader.recv(100).startswith(b"HTTP/1.1 200")
    for _ in range(3000):
        if descriptors(server) <= before:
            break
        time.sleep(0.1)
    assert descriptors(server) <= before
    with httpx.Client(base_url=server.url, timeout=PATIENCE) as http:
        assert http.get(weights(server)).content == CONTENT


@pytest.mark.parametrize("sender", [SENDFILE, None], ids=["by the system", "through the transport"])
async def test_a_file_follows_what_was_written_before(tmp_path: Path, sender: Sender | None) -> None:
    path = tmp_path / "file"
    path.write_bytes(CONTENT)
    file = os.open(path, os.O_RDONLY)

    async def answer(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"head")
        await send_file(writer.transport, ServerLimits(), file, 4, len(CONTENT) - 8, sender)
        writer.write(b"tail")
        writer.close()

    listening = await asyncio.start_server(answer, "127.0.0.1")
    async with listening:
        reader, writer = await asyncio.open_connection(*listening.sockets[0].getsockname())
        assert await reader.read(-1) == b"head" + CONTENT[4:-4] + b"tail"
        writer.close()
    os.close(file)


@pytest.mark.parametrize("sender", [SENDFILE, None], ids=["by the system", "through the transport"])
async def test_a_file_that_became_shorter_is_an_error(tmp_path: Path, sender: Sender | None) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"12345678")
    file = os.open(path, os.O_RDONLY)
    failures: asyncio.Queue[str] = asyncio.Queue()

    async def answer(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await send_file(writer.transport, ServerLimits(), file, 0, 9, sender)
        except OSError as error:
            failures.put_nowait(str(error))
        writer.close()

    listening = await asyncio.start_server(answer, "127.0.0.1")
    async with listening:
        reader, writer = await asyncio.open_connection(*listening.sockets[0].getsockname())
        assert await reader.read(-1) == b"12345678"
        assert "shorter" in await failures.get()
        writer.close()
    os.close(file)


@given(st.integers(0, 50), st.integers(0, 60), st.integers(0, 60))
def test_a_range_is_what_the_rfc_says(size: int, first: int, last: int) -> None:
    content = bytes(range(size))

    def asked(header: str) -> bytes | None:
        part = part_of(header, size)
        return None if part is None else content[part.start : part.stop] if part else b""

    assert asked(f"bytes={first}-") == content[first:]
    assert asked(f"bytes=-{last}") == (content[-last:] if last else b"")
    assert asked(f"bytes={first}-{last}") == (content[first : last + 1] if first <= last else None)


@pytest.mark.parametrize(
    "header", ["", "bytes=-", "bytes=a-b", "lines=1-2", "bytes=1-2,4-5", f"bytes={'9' * 30}-"]
)
def test_a_header_that_is_no_single_range_asks_for_everything(header: str) -> None:
    assert part_of(header, 10) is None
