"""Visitors who drip their requests, or never end them, are told and let go."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest

from tests.tiny import write_task
from tests.web.running import Server, running

SECONDS, HEAD_BYTES = 2, 4096


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("limits")
    write_task(folder / "tasks" / "tiny")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MINGA_REQUEST_SECONDS", str(SECONDS))
        patch.setenv("MINGA_MAX_HEAD_BYTES", str(HEAD_BYTES))
        with running(folder / "tasks", folder / "data") as running_server:
            yield running_server


def connect(server: Server) -> socket.socket:
    host, _, port = server.url.removeprefix("http://").rpartition(":")
    return socket.create_connection((host, int(port)), timeout=20)


def read(connection: socket.socket) -> bytes:
    """Everything until the server closes."""
    received = b""
    with suppress(ConnectionResetError):
        while data := connection.recv(65536):
            received += data
    return received


def drip(connection: socket.socket) -> None:
    """One header after the other, without an end."""
    while True:
        connection.sendall(b"X-More: 1\r\n")
        time.sleep(0.1)


@pytest.mark.parametrize(
    "start",
    [
        b"",
        b"GET / HTTP/1.1\r\nHost: x\r\n",
        b"POST /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n1",
    ],
    ids=["nothing", "half a head", "half a body"],
)
def test_half_a_request_ends_in_time(server: Server, start: bytes) -> None:
    with connect(server) as connection:
        connection.sendall(start)
        answer = read(connection)
    assert b" 408 " in answer or b" 405 " in answer


def test_a_head_that_drips_ends_in_time(server: Server) -> None:
    with connect(server) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\n")
        with pytest.raises((ConnectionResetError, BrokenPipeError)):
            drip(connection)
    assert server.get("/api/tasks")["tasks"]


def test_an_endless_head_is_refused_at_its_limit(server: Server) -> None:
    with connect(server) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nX-Long: " + b"x" * HEAD_BYTES)
        assert b" 431 " in read(connection)


def test_requests_that_come_whole_share_a_connection(server: Server) -> None:
    with connect(server) as connection:
        for _ in range(3):
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            answer = b""
            while not answer.endswith(b"ok"):
                answer += connection.recv(4096)
            time.sleep(SECONDS / 2)
