"""Serves immutable blobs by their address."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from backend.errors import GoneError, MingaError, NotFoundError
from backend.server.accounts.permissions import ANYBODY, Requester, may
from backend.stores.embedded import Stores
from backend.web.auth.identity import identify
from backend.web.transport.zero_copy import EXTENSION

IMMUTABLE = "public, max-age=31536000, immutable"
PRIVATE = "private, max-age=31536000, immutable"
_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")


async def blob(request: Request) -> Response:
    """`GET /blobs/{sha256}`: whole, by Range, or not at all where the reader has it already."""
    address = request.path_params["sha256"]
    cache_control = await _cache_control(request, address)
    path = request.app.state.tasks.snapshot(address) or await _path(request, address)
    headers = {"ETag": f'"{address}"', "Cache-Control": cache_control, "Accept-Ranges": "bytes"}
    if has_already(request.headers.get("if-none-match", ""), address):
        return Response(status_code=304, headers=headers)
    byte_range = request.headers.get("range", "")
    if request.headers.get("if-range", f'"{address}"') != f'"{address}"':
        byte_range = ""
    registry = request.app.state.tasks
    return FilePart(path, byte_range, headers, lambda count: registry.fetched(address, count))


async def _cache_control(request: Request, address: str) -> str:
    """Returns a blob's Cache-Control. Raises NotFoundError unless the sender may view one of its tasks.

    A blob without a hosted task is not served: its task may have been by invitation.
    """
    places = request.app.state.tasks.places_of(address)
    if any(may(ANYBODY, "view", place) for place in places):
        return IMMUTABLE
    identity = await identify(request)
    if not any(may(identity, "view", place) for place in places):
        raise await _absence(request, address, identity)
    # Proxies must not cache it: they would serve it to everybody.
    return PRIVATE


async def _path(request: Request, address: str) -> Path:
    stores: Stores = request.app.state.stores
    try:
        return await stores.blobs.path(address)
    except NotFoundError:
        raise await _absence(request, address, await identify(request)) from None


async def _absence(request: Request, address: str, identity: Requester) -> MingaError:
    """Returns the refusal: readers who may view the task learn that its version was deleted."""
    deleted = await request.app.state.stores.records.gone(address)
    if deleted is not None:
        task, version = deleted
        with suppress(NotFoundError):
            if may(identity, "view", request.app.state.tasks.place(task)):
                return GoneError(
                    f"Version {version} of '{task}' was deleted to save space; its page has the newest."
                )
    return NotFoundError(f"There is nothing at the address {address}.")


def has_already(if_none_match: str, address: str) -> bool:
    """Whether an If-None-Match header names this address."""
    tags = [tag.strip().removeprefix("W/") for tag in if_none_match.split(",")]
    return f'"{address}"' in tags or "*" in tags


def part_of(byte_range: str, size: int) -> range | None:
    """Returns the range of a Range header within `size` bytes; empty when it is outside them.

    None for a header that is not a single byte range, which may be ignored (RFC 9110, 14.2).
    """
    match = _RANGE.fullmatch(byte_range.strip())
    if match is None or not (match[1] or match[2]):
        return None
    if not match[1]:
        return range(max(0, size - int(match[2])), size)
    if match[2] and int(match[2]) < int(match[1]):
        return None
    return range(int(match[1]), min(size, int(match[2]) + 1) if match[2] else size)


class FilePart(Response):
    """Sends a file, or its requested part, by the system. `report_sent` receives the number of bytes."""

    def __init__(
        self, path: Path, byte_range: str, headers: dict[str, str], report_sent: Callable[[int], None]
    ) -> None:
        super().__init__(headers=headers, media_type="application/octet-stream")
        del self.headers["content-length"]  # Known when the file is open.
        self._path = path
        self._byte_range = byte_range
        self._report_sent = report_sent

    async def __call__(self, scope: Scope, _receive: Receive, send: Send) -> None:
        try:
            # Opening a file here is faster than in a thread.
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
                self._report_sent(len(part))
        finally:
            os.close(file)

    def _choose(self, size: int) -> range:
        part = part_of(self._byte_range, size)
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
