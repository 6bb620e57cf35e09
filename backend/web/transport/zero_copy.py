"""Files onto sockets without a copy: ASGI's extension `http.response.zerocopysend`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from backend.settings import ServerLimits

EXTENSION = "http.response.zerocopysend"
# What the system takes at a time, so that one fast reader leaves the loop to others.
PIECE_BYTES = 1 << 20

Sender = Callable[[int, int, int, int], int]
# None on Windows.
SENDFILE: Sender | None = getattr(os, "sendfile", None)


def with_files(app: ASGIApp, cycle: RequestResponseCycle, limits: ServerLimits) -> ASGIApp:
    """`app`, which may answer with `zerocopysend` of part of a file after a start with content-length."""

    async def served(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_or_file(message: Message) -> None:
            if message["type"] != EXTENSION:
                await send(message)
                return
            if scope["method"] != "HEAD":
                await _send_part(cycle, limits, message["file"], message["offset"], message["count"])
            await send({"type": "http.response.body", "body": b"", "more_body": False})

        scope["extensions"] = {**scope.get("extensions", {}), EXTENSION: {}}
        await app(scope, receive, send_or_file)

    return served


async def _send_part(
    cycle: RequestResponseCycle, limits: ServerLimits, file: int, offset: int, count: int
) -> None:
    """Sends it behind the head of the response; ends the connection of a reader that is gone or stuck."""
    try:
        await send_file(cycle.transport, limits, file, offset, count)
    except (OSError, TimeoutError):
        cycle.disconnected = True
        cycle.transport.abort()
    cycle.expected_content_length -= count


async def send_file(
    transport: asyncio.WriteTransport,
    limits: ServerLimits,
    file: int,
    offset: int,
    count: int,
    sender: Sender | None = SENDFILE,
) -> None:
    """Sends `count` bytes of the open `file` from `offset` on, after all that was written to `transport`.

    Where the system has no `sender` (Windows), the bytes go through the transport. Raises OSError when the
    other side is gone or the file too short, TimeoutError when it takes nothing for too long, or too little.
    """
    now = asyncio.get_running_loop().time
    first, begun = offset, now()
    with suppress(AttributeError):  # Not everywhere; where it is, the disk is read ahead of us.
        os.posix_fadvise(file, offset, count, os.POSIX_FADV_WILLNEED)
    await _flushed(transport, limits)
    if sender is None:
        await _copy(transport, limits, file, offset, count)
        return
    # The event loop keeps the transport's own descriptor to itself.
    out = os.dup(transport.get_extra_info("socket").fileno())
    try:
        while count:
            try:
                sent = sender(out, file, offset, min(count, PIECE_BYTES))
            except BlockingIOError:
                left = begun + limits.seconds_for(offset - first) - now()
                await _writable(out, min(left, limits.stall_seconds))
                continue
            if not sent:
                raise OSError("the file is shorter than it was")
            offset, count = offset + sent, count - sent
            await asyncio.sleep(0)
    finally:
        os.close(out)


async def _writable(descriptor: int, seconds: float) -> None:
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    loop.add_writer(descriptor, ready.set)
    try:
        async with asyncio.timeout(seconds):
            await ready.wait()
    finally:
        loop.remove_writer(descriptor)


async def _flushed(transport: asyncio.WriteTransport, limits: ServerLimits) -> None:
    """Waits until nothing is left of what was written before."""
    pause = 0.0
    async with asyncio.timeout(limits.seconds_for(transport.get_write_buffer_size())):
        while transport.get_write_buffer_size():
            if transport.is_closing():
                raise ConnectionResetError
            await asyncio.sleep(pause)
            pause = min(0.1, 2 * pause + 0.001)


async def _copy(
    transport: asyncio.WriteTransport, limits: ServerLimits, file: int, offset: int, count: int
) -> None:
    while count:
        data = await asyncio.to_thread(_read, file, offset, min(count, PIECE_BYTES))
        if not data:
            raise OSError("the file is shorter than it was")
        transport.write(data)
        await _flushed(transport, limits)
        offset, count = offset + len(data), count - len(data)


def _read(file: int, offset: int, length: int) -> bytes:
    os.lseek(file, offset, os.SEEK_SET)
    return os.read(file, length)
