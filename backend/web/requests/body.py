"""What comes in requests: JSON, and files in pieces."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TypeVar

import msgspec
from starlette.requests import ClientDisconnect, Request

from backend.errors import BadRequestError, TooLongError

MOST_BYTES = 64 << 10

Body = TypeVar("Body")


async def read_json(request: Request, kind: type[Body], most: int = MOST_BYTES) -> Body:
    """The body as a `kind` (a msgspec Struct, say) of at most so many bytes.

    Raises BadRequestError, which names the field that is wrong, or TooLongError.
    """
    # Forms of other sites cannot send this type without asking first.
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise BadRequestError("Send JSON, with the header Content-Type: application/json.")
    data = await read_body(request, most)
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadRequestError(f"The body of this request cannot be used: {error}.") from None


async def read_body(request: Request, most: int) -> bytes:
    """The body, of at most so many bytes. Raises TooLongError, or BadRequestError where it ends early."""
    said = f"The body of this request has at most {most} bytes."
    return bytes(await gather(request, most, said, "the request was"))


async def gather(request: Request, most: int, too_long: str, what: str) -> bytearray:
    """The body, of at most so many bytes.

    Raises TooLongError, which says `too_long`, or BadRequestError where it ends before `what` here.
    """
    data = bytearray()
    try:
        async for part in request.stream():
            data += part
            if len(data) > most:
                raise TooLongError(too_long)
    except ClientDisconnect as error:
        raise BadRequestError(f"The connection ended before {what} here.") from error
    return data


async def read_pieces(request: Request, cut: str) -> AsyncIterator[bytes]:
    """The body as it comes. Raises BadRequestError with the sentence `cut` where it ends early."""
    try:
        async for part in request.stream():
            if part:
                yield part
    except ClientDisconnect as error:
        raise BadRequestError(cut) from error
