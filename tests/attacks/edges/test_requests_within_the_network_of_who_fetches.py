"""Gain: requests of a volunteer's machine to its own network, by the addresses of a task's data."""

from __future__ import annotations

import io
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from backend.datasets.download import DownloadRequest, public_address
from backend.errors import DataError
from backend.numerics.preprocess.fitted import parse_fitted
from backend.peer.data.url_data import FetchedUrlData, FetchedUrlFile, fetch_url_data
from backend.peer.session.progress import PlainLines

NAME = "server.evil.example"
DEALING = Path(__file__).parents[2] / "contract/vectors/dealing.json"
FITTED = parse_fitted(json.dumps(json.loads(DEALING.read_text("utf-8"))["whole"]["preprocess"]).encode())


@contextmanager
def service() -> Iterator[tuple[int, list[bytes]]]:
    """Listens at a port of this machine, which strangers cannot reach; yields it and what it was asked."""
    asked: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with suppress(OSError):
                connection, _ = server.accept()
                with connection:
                    asked.append(connection.recv(4096))

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1], asked


def fetch_from(address: str, server: str, folder: Path) -> None:
    """Fetches a task's data from an address that the task's `server` named."""
    file = FetchedUrlFile(address, "0" * 64, 10, "data.npz")
    data = FetchedUrlData([file], 5, 5, 0.5, 1)
    fetch_url_data(data, FITTED, folder, server, PlainLines(io.StringIO()), lambda: False)


@pytest.mark.parametrize("host", ["192.0.0.1", "192.0.0.8", "192.0.0.170"])
def test_no_file_is_fetched_from_a_carriers_own_machines(host: str) -> None:
    with pytest.raises(DataError, match="an address of a local network"):
        public_address(DownloadRequest(f"https://{host}/data.npz", 10))


def test_a_servers_name_that_leads_to_this_machine_once_it_was_joined_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolve = socket.getaddrinfo

    def rebound(host: Any, *rest: Any, **more: Any) -> Any:
        return resolve("127.0.0.1" if host == NAME else host, *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", rebound)
    with service() as (port, asked), pytest.raises(DataError, match="an address of a local network"):
        fetch_from(f"https://{NAME}:{port}/admin?restart=1", NAME, tmp_path)
    assert asked == []
