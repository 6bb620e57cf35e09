"""Serves a static site on a free loopback port, with the headers of the real server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.support.environment.http_thread import serving

SECURITY = {
    "Content-Security-Policy": (
        "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; "
        "connect-src 'self'; img-src 'self' data: blob:; style-src 'self'; object-src 'none'; "
        "base-uri 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
}


class _Handler(SimpleHTTPRequestHandler):
    """Serves each mounted folder (or single file) under its prefix."""

    extensions_map = {  # noqa: RUF012 - the base class declares it so
        **SimpleHTTPRequestHandler.extensions_map,
        ".js": "text/javascript",
        ".wasm": "application/wasm",
    }

    def __init__(self, mounts: Mapping[str, Path], *args: Any) -> None:
        self._mounts = mounts
        super().__init__(*args)

    def translate_path(self, path: str) -> str:
        clean = path.partition("?")[0]
        for prefix, folder in self._mounts.items():
            if clean.startswith(prefix):
                target = (folder / clean.removeprefix(prefix)).resolve()
                if target.is_relative_to(folder.resolve()):
                    return str(target)
        return str(Path("/nonexistent"))

    def end_headers(self) -> None:
        for name, value in SECURITY.items():
            self.send_header(name, value)
        super().end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Discards the line: tests print nothing."""


@contextmanager
def serve(mounts: Mapping[str, Path]) -> Iterator[str]:
    """Serves folders by prefix (such as `{"/harness/": path}`); yields the site's origin."""
    with serving(ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, mounts))) as origin:
        yield origin
