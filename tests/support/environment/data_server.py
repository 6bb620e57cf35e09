"""A second server with the data of tasks: real HTTP on a free loopback port, with optional faults."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event
from typing import Literal

from tests.support.environment.http_thread import serving

Fault = Literal["missing", "away", "redirect", "longer", "endless", "short", "silent"]


@dataclass
class Elsewhere:
    """The server's files by path, and the requested paths.

    If `closed`, pages of other sites may not read its files (no CORS).
    """

    files: Mapping[str, bytes]
    faults: Mapping[str, Fault] = field(default_factory=dict)
    closed: bool = False
    asked: list[str] = field(default_factory=list)
    over: Event = field(default_factory=Event)
    origin: str = ""

    def table(self, path: str, **changes: object) -> str:
        """Returns the file at `path` as an entry of a task file's [data.url]."""
        content = self.files[path]
        entry = {
            "address": f"{self.origin}{path}",
            "sha256": hashlib.sha256(content).hexdigest(),
            "bytes": len(content),
        } | changes
        return "{ " + ", ".join(f"{key} = {_toml(value)}" for key, value in entry.items()) + " }"


def _toml(value: object) -> str:
    return str(value) if isinstance(value, int) else f'"{value}"'


@contextmanager
def elsewhere(files: Mapping[str, bytes], **more: Fault) -> Iterator[Elsewhere]:
    """Serves `files` until the end; `more` are faults by file name without suffix."""
    here = Elsewhere(files, more)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer(here, self)

        def log_message(self, format: str, *args: object) -> None:
            """Discards the line: tests print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    here.origin = f"http://127.0.0.1:{server.server_port}"
    with serving(server):
        try:
            yield here
        finally:
            here.over.set()


def answer(here: Elsewhere, request: BaseHTTPRequestHandler) -> None:
    """Answers a request, with the file's fault if it has one."""
    here.asked.append(request.path)
    fault = here.faults.get(request.path.rpartition("/")[2].partition(".")[0])
    content = here.files.get(request.path)
    if content is None or fault == "missing":
        return _head(here, request, 404, 0)
    if fault == "away":
        return _head(here, request, 503, 0)
    if fault == "redirect":
        return _head(here, request, 302, 0, Location=request.path + "?again")
    if fault == "endless":
        # Sends without a length until the client closes the connection.
        _head(here, request, 200, None)
        while not here.over.is_set():
            try:
                request.wfile.write(bytes(1 << 16))
            except OSError:
                return None
    _head(here, request, 200, len(content) + (fault == "longer"))
    request.wfile.write(
        content[:-1] if fault in ("short", "silent") else content + b"!" * (fault == "longer")
    )
    if fault == "silent":
        request.wfile.flush()
        here.over.wait()
    return None


def _head(
    here: Elsewhere, request: BaseHTTPRequestHandler, status: int, length: int | None, **headers: str
) -> None:
    request.send_response(status)
    if not here.closed:
        request.send_header("Access-Control-Allow-Origin", "*")
    if length is not None:
        request.send_header("Content-Length", str(length))
    for name, value in headers.items():
        request.send_header(name, value)
    request.end_headers()
