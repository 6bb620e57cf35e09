"""Reads request bodies: JSON, forms, bytes up to a limit, and files in pieces."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import TypeVar
from urllib.parse import parse_qsl

import msgspec
from starlette.requests import ClientDisconnect, Request

from backend.errors import BadRequestError, TooLongError

MAX_JSON_BYTES = 64 << 10
FORM = "application/x-www-form-urlencoded"
MAX_FORM_BYTES, MOST_FIELDS = 4 << 10, 16
# Lists and objects within each other. No body needs a third of it; Python's own limit ends requests with 500.
MOST_NESTED = 32
# A string ends with the text at the latest, and `*+` gives nothing back: each byte is read once. A search
# that failed at a quote would read the rest of the text again from the next one.
_STRING_OR_BRACKET = re.compile(rb'"(?:[^"\\]|\\.)*+"?|[\[{\]}]', re.DOTALL)

Body = TypeVar("Body")


async def read_json(request: Request, kind: type[Body], max_bytes: int = MAX_JSON_BYTES) -> Body:
    """Decodes a JSON body of at most `max_bytes` as `kind`, such as a msgspec Struct.

    Raises BadRequestError, which names the wrong field, or TooLongError.
    """
    # Forms of other sites cannot send this content type without a CORS preflight.
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise BadRequestError("Send JSON, with the header Content-Type: application/json.")
    data = await read_body(request, max_bytes)
    if is_nested_deeper(data, MOST_NESTED):
        raise BadRequestError(
            f"The body of this request is nested over {MOST_NESTED} deep; no request needs that."
        )
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadRequestError(f"The body of this request cannot be used: {error}.") from None


async def read_form(request: Request) -> dict[str, str]:
    """Decodes the fields of a form without files. Raises BadRequestError, or TooLongError."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != FORM:
        raise BadRequestError(f"Send a form, with the header Content-Type: {FORM}.")
    data = await read_body(request, MAX_FORM_BYTES)
    try:
        return dict(
            parse_qsl(data.decode(), keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS)
        )
    except ValueError:
        raise BadRequestError(
            "The fields of this form cannot be read. Reload the page and try again."
        ) from None


def is_nested_deeper(data: bytes, most: int) -> bool:
    """Whether lists and objects of this JSON lie within each other over `most` deep."""
    depth = 0
    for found in _STRING_OR_BRACKET.finditer(data):
        match found[0]:
            case b"[" | b"{":
                depth += 1
                if depth > most:
                    return True
            case b"]" | b"}":
                depth -= 1
    return False


async def read_body(request: Request, max_bytes: int) -> bytes:
    """Reads a body of at most `max_bytes`. Raises TooLongError, or BadRequestError if it ends early."""
    message = f"The body of this request has at most {max_bytes} bytes."
    return bytes(await gather(request, max_bytes, message, "the request was"))


async def gather(request: Request, max_bytes: int, too_long: str, received: str) -> bytearray:
    """Reads a body of at most `max_bytes`.

    Raises TooLongError with the text `too_long`, or BadRequestError if the connection ends before; its text
    names what had to be `received`.
    """
    data = bytearray()
    try:
        async for part in request.stream():
            data += part
            if len(data) > max_bytes:
                raise TooLongError(too_long)
    except ClientDisconnect as error:
        raise BadRequestError(f"The connection ended before {received} here.") from error
    return data


async def read_pieces(request: Request, cut_message: str) -> AsyncIterator[bytes]:
    """Yields the body as it arrives. Raises BadRequestError with `cut_message` if it ends early."""
    try:
        async for part in request.stream():
            if part:
                yield part
    except ClientDisconnect as error:
        raise BadRequestError(cut_message) from error
