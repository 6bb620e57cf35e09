"""Immutable bytes by their address."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from backend.errors import GoneError, NotFoundError
from backend.server.accounts.permissions import ANYBODY, may
from backend.stores.embedded import Stores
from backend.web.auth.identity import identify
from backend.web.transport.zero_copy import EXTENSION

IMMUTABLE = "public, max-age=31536000, immutable"
PRIVATE = "private, max-age=31536000, immutable"
_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")


async def blob(request: Request) -> Response:
    """`GET /blobs/{sha256}`: whole, by Range, or not at all where the reader has it already."""
    address = request.path_params["sha256"]
    cached = await _cached(request, address)
    path = request.app.state.tasks.snapshot(address) or await _path(request.app.state.stores, address)
    headers = {"ETag": f'"{address}"', "Cache-Control": cached, "Accept-Ranges": "bytes"}
    if has_already(request.headers.get("if-none-match", ""), address):
        return Response(status_code=304, headers=headers)
    asked = request.headers.get("range", "")
    if request.headers.get("if-range", f'"{address}"') != f'"{address}"':
        asked = ""
    registry = request.app.state.tasks
    return FilePart(path, asked, headers, lambda count: registry.fetched(address, count))


async def _cached(request: Request, address: str) -> str:
    """How a blob may be cached. Raises NotFoundError for one of tasks that the asker may not know of."""
    places = request.app.state.tasks.places_of(address)
    if not places or any(may(ANYBODY, "view", place) for place in places):
        return IMMUTABLE
    identity = await identify(request)
    if not any(may(identity, "view", place) for place in places):
        raise NotFoundError(f"There is nothing at the address {address}.")
    # Not by proxies: they would give it to anybody.
    return PRIVATE


async def _path(stores: Stores, address: str) -> Path:
    try:
        return await stores.blobs.path(address)
    except NotFoundError:
        gone = await stores.records.gone(address)
        if gone is None:
            raise
        task, version = gone
        raise GoneError(
            f"Version {version} of '{task}' was let go to save space; its page has the newest."
        ) from None


def has_already(if_none_match: str, address: str) -> bool:
    """Whether an If-None-Match header names this address."""
    tags = [tag.strip().removeprefix("W/") for tag in if_none_match.split(",")]
    return f'"{address}"' in tags or "*" in tags


def part_of(asked: str, size: int) -> range | None:
    """The bytes, of `size`, that a Range header asks for; an empty range when there are none of those.

    None for a header that is no single range of bytes: it may be ignored (RFC 9110, 14.2).
    """
    found = _RANGE.fullmatch(asked.strip())
    if found is None or not (found[1] or found[2]):
        return None
    if not found[1]:
        return range(max(0, size - int(found[2])), size)
    if found[2] and int(found[2]) < int(found[1]):
        return None
    return range(int(found[1]), min(size, int(found[2]) + 1) if found[2] else size)


class FilePart(Response):
    """A file, or the part of it that was asked for, given to the system to send; `sent` is told how much."""

    def __init__(self, path: Path, asked: str, headers: dict[str, str], sent: Callable[[int], None]) -> None:
        super().__init__(headers=headers, media_type="application/octet-stream")
        del self.headers["content-length"]  # Known when the file is open.
        self._path = path
        self._asked = asked
        self._sent = sent

    async def __call__(self, scope: Scope, _receive: Receive, send: Send) -> None:
        try:
            # Opening a file is faster than asking a thread to.
            file = os.open(self._path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        except FileNotFoundError as error:
            raise NotFoundError(f"There is nothing at the address {self._path.name} any more.") from error
        try:
            part = self._choose(os.fstat(file).st_size)
            await send(
                {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
            )
            await send({"type": EXTENSION, "file": file, "offset": part.start, "count": len(part)})
            if scope["method"] != "HEAD":
                self._sent(len(part))
        finally:
            os.close(file)

    def _choose(self, size: int) -> range:
        part = part_of(self._asked, size)
        if part is None:
            part = range(size)
        elif part:
            self.status_code = 206
            self.headers["Content-Range"] = f"bytes {part.start}-{part.stop - 1}/{size}"
        else:
            self.status_code = 416
            self.headers["Content-Range"] = f"bytes */{size}"
        self.headers["Content-Length"] = str(len(part))
        return part
