"""Gain: a thread of a peer, held without end by the host of a task's data, which never is silent."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from backend.datasets.download import DownloadRequest, fetch
from backend.errors import DataError, MingaError, UnreachableError

DEADLINE, MUCH_LATER = 1.0, 10.0
Answer = Callable[[socket.socket], None]


def _repeat(connection: socket.socket, data: bytes) -> None:
    end = time.monotonic() + MUCH_LATER + 5.0
    while time.monotonic() < end:
        connection.sendall(data)
        time.sleep(0.02)


def slow_status_line(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 O")
    _repeat(connection, b"K")


def endless_interim_answers(connection: socket.socket) -> None:
    _repeat(connection, b"HTTP/1.1 100 Continue\r\n\r\n")


def endless_trailers(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n")
    _repeat(connection, b"a: b\r\n")


ANSWERS = [slow_status_line, endless_interim_answers, endless_trailers]


@contextmanager
def answering(answer: Answer) -> Iterator[str]:
    """Serves one connection by `answer`; yields the address."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with suppress(OSError):
                connection, _ = server.accept()
                with connection:
                    connection.recv(4096)
                    answer(connection)

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/data.npz"


def problem_with(
    answer: Answer, folder: Path, seconds: float, is_canceled: Callable[[], bool]
) -> MingaError | None:
    """Fetches from a host that answers so; returns the error, or None if that takes far too long."""
    problems: list[MingaError] = []

    def run(address: str) -> None:
        try:
            fetch(DownloadRequest(address, 10, private=True, seconds=seconds), folder / "file", is_canceled)
        except MingaError as error:
            problems.append(error)

    with answering(answer) as address:
        thread = threading.Thread(target=run, args=[address], daemon=True)
        thread.start()
        thread.join(MUCH_LATER)
    return problems[0] if problems else None


@pytest.mark.parametrize("answer", ANSWERS)
def test_a_download_ends_at_its_deadline(answer: Answer, tmp_path: Path) -> None:
    problem = problem_with(answer, tmp_path, DEADLINE, lambda: False)
    assert isinstance(problem, UnreachableError)
    assert "is too slow" in str(problem)


@pytest.mark.parametrize("answer", ANSWERS)
def test_a_download_ends_when_it_is_cancelled(answer: Answer, tmp_path: Path) -> None:
    cancelled_at = time.monotonic() + DEADLINE
    problem = problem_with(answer, tmp_path, 60.0, lambda: time.monotonic() > cancelled_at)
    assert isinstance(problem, DataError)
    assert "not fetched to its end" in str(problem)
