from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from backend.commands.build import build_task
from backend.settings import assets_folder
from tests.support.environment.http_thread import serving


@pytest.fixture(scope="session")
def digits() -> Path:
    """The gallery's digits, built: `task.toml` and `built/`."""
    folder = assets_folder() / "models" / "digits"
    build_task(folder)
    return folder


class BlobServer:
    """A real HTTP server of blobs that may lie: `blobs` maps what is asked for to what is sent."""

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}
        self.asked: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                name = self.path.removeprefix("/blobs/")
                outer.asked.append(name)
                content = outer.blobs.get(name)
                self.send_response(200 if content is not None else 404)
                self.send_header("Content-Length", str(len(content or b"")))
                self.end_headers()
                self.wfile.write(content or b"")

            def log_message(self, *_: object) -> None:
                """Keeps the tests' output quiet."""

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"


@pytest.fixture
def blob_server() -> Iterator[BlobServer]:
    server = BlobServer()
    with serving(server.http):
        yield server
