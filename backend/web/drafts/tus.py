"""Reads and writes headers of tus 1.0 (https://tus.io/protocols/resumable-upload): resumable uploads."""

from __future__ import annotations

import re
from base64 import b64decode

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from backend.errors import BadRequestError, WrongVersionError
from backend.web.transport.error_responses import refusal

VERSION, EXTENSIONS = "1.0.0", "creation,termination"
RESUMABLE, PIECE_TYPE = "Tus-Resumable", "application/offset+octet-stream"

# A key of visible ASCII characters without commas, and its value in base64, which may be missing.
_ENTRY = re.compile(r"([!-+\--~]+)(?: ([A-Za-z0-9+/]+=*)?)?")


class TusVersion:
    """Lets only requests of this version through, and names the version in every response."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_named(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update({RESUMABLE: VERSION, "Tus-Version": VERSION})
            await send(message)

        if scope["method"] == "OPTIONS" or Headers(scope=scope).get(RESUMABLE) == VERSION:
            await self._app(scope, receive, send_named)
        else:
            error = WrongVersionError(f"Uploads speak tus {VERSION}: send the header {RESUMABLE}: {VERSION}.")
            await refusal(Request(scope), error)(scope, receive, send_named)


def read_bytes(request: Request, name: str) -> int:
    """Returns the number of bytes in a header. Raises BadRequestError if it is missing or no such number."""
    text = request.headers.get(name, "")
    if not (text.isascii() and text.isdecimal()) or len(text) > 15:
        raise BadRequestError(f"{name} is missing or wrong: it is a whole number of bytes.")
    return int(text)


def read_metadata(text: str) -> dict[str, str]:
    """Decodes `Upload-Metadata`: keys with values in base64. Raises BadRequestError."""
    found: dict[str, str] = {}
    for entry in text.split(",") if text else ():
        match = _ENTRY.fullmatch(entry.strip(" "))
        if match is None or match[1] in found:
            raise _bad_metadata()
        try:
            found[match[1]] = b64decode(match[2] or "", validate=True).decode()
        except ValueError:
            raise _bad_metadata() from None
    return found


def _bad_metadata() -> BadRequestError:
    return BadRequestError(
        "Upload-Metadata is a list of different keys, each with its value of UTF-8 in base64: "
        "filename bW9kZWwua2VyYXM=,sha256 ..."
    )
