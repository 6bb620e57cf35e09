"""Sends files to sockets without copying: ASGI's extension `http.response.zerocopysend`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from backend.settings import ServerLimits

EXTENSION = "http.response.zerocopysend"
# Bytes per system call, so that one fast reader does not block the event loop.
BLOCK_BYTES = 1 << 20

Sender = Callable[[int, int, int, int], int]
# None on Windows.
SENDFILE: Sender | None = getattr(os, "sendfile", None)


def with_files(app: ASGIApp, cycle: RequestResponseCycle, limits: ServerLimits) -> ASGIApp:
    """Returns `app` with `zerocopysend`, by which it sends part of a file after a start with a length."""

    async def wrapped(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_or_file(message: Message) -> None:
            if message["type"] != EXTENSION:
                await send(message)
                return
            if scope["method"] != "HEAD":
                await _send_part(cycle, limits, message["file"], message["offset"], message["count"])
            await send({"type": "http.response.body", "body": b"", "more_body": False})

        scope["extensions"] = {**scope.get("extensions", {}), EXTENSION: {}}
        await app(scope, receive, send_or_file)

    return wrapped


async def _send_part(
    cycle: RequestResponseCycle, limits: ServerLimits, file: int, offset: int, count: int
) -> None:
    """Sends the bytes after the response's head. Aborts if the reader is gone or stuck."""
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
    """Sends `count` bytes of the open `file` from `offset`, after the bytes written to `transport` before.

    Where the system has no `sender` (Windows), the bytes pass through the transport. Raises OSError when the
    client is gone or the file too short, and TimeoutError when the client stalls or reads too slowly.
    """
    now = asyncio.get_running_loop().time
    start_offset, started = offset, now()
    with suppress(AttributeError):  # Not every system has it; it starts reading ahead from the disk.
        os.posix_fadvise(file, offset, count, os.POSIX_FADV_WILLNEED)
    await _wait_flushed(transport, limits)
    if sender is None:
        await _copy(transport, limits, file, offset, count)
        return
    # The event loop does not allow a writer on the transport's own descriptor.
    out = os.dup(transport.get_extra_info("socket").fileno())
    try:
        while count:
            try:
                sent = sender(out, file, offset, min(count, BLOCK_BYTES))
            except BlockingIOError:
                remaining = started + limits.seconds_for(offset - start_offset) - now()
                await _wait_writable(out, min(remaining, limits.stall_seconds))
                continue
            if not sent:
                raise OSError("the file is shorter than it was")
            offset, count = offset + sent, count - sent
            await asyncio.sleep(0)
    finally:
        os.close(out)


async def _wait_writable(descriptor: int, seconds: float) -> None:
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    loop.add_writer(descriptor, ready.set)
    try:
        async with asyncio.timeout(seconds):
            await ready.wait()
    finally:
        loop.remove_writer(descriptor)


async def _wait_flushed(transport: asyncio.WriteTransport, limits: ServerLimits) -> None:
    """Waits until the transport has sent everything that was written before."""
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
        data = await asyncio.to_thread(_read, file, offset, min(count, BLOCK_BYTES))
        if not data:
            raise OSError("the file is shorter than it was")
        transport.write(data)
        await _wait_flushed(transport, limits)
        offset, count = offset + len(data), count - len(data)


def _read(file: int, offset: int, length: int) -> bytes:
    os.lseek(file, offset, os.SEEK_SET)
    return os.read(file, length)
