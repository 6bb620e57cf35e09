"""Runs an HTTP server of a test in a thread of this process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import HTTPServer
from threading import Thread

# Seconds between two checks for `shutdown`; a test waits that long at its end. The default is 0.5.
POLL_SECONDS = 0.02


@contextmanager
def serving(server: HTTPServer) -> Iterator[str]:
    """Serves requests until the end; yields the server's origin."""
    thread = Thread(target=server.serve_forever, args=[POLL_SECONDS], daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
