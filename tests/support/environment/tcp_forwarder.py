"""Forwards TCP connections to a server, and waits for all of them to close when it ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit

# Carries one direction of a connection until it ends. An OSError breaks both directions.
Carry = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Carries all bytes unchanged."""
    while data := await reader.read(1 << 16):
        writer.write(data)
        await writer.drain()


class Forwarder:
    """Forwards connections to `url`; `sent` carries the clients' bytes, `answered` the server's."""

    def __init__(self, url: str, sent: Carry, answered: Carry) -> None:
        self.url = ""
        self._target = urlsplit(url)
        self._sent = sent
        self._answered = answered
        self._ends: set[asyncio.StreamWriter] = set()
        self._connections: set[asyncio.Task[None]] = set()

    def cut(self) -> int:
        """Breaks every connection and returns how many there were; new ones are still accepted."""
        ends = list(self._ends)
        for end in ends:
            end.transport.abort()
        return len(ends) // 2

    async def forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carries one connection until one side or `cut` ends it."""
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        ends = {writer}
        self._ends |= ends
        try:
            from_server, to_server = await asyncio.open_connection(self._target.hostname, self._target.port)
        except OSError:
            writer.transport.abort()
        else:
            ends.add(to_server)
            self._ends |= ends
            await asyncio.gather(
                _carry_all(self._sent, reader, to_server, ends),
                _carry_all(self._answered, from_server, writer, ends),
            )
        for end in ends:
            with suppress(OSError):
                await end.wait_closed()
        self._ends -= ends
        self._connections.discard(task)

    async def ended(self) -> None:
        """Breaks every connection and waits until all have ended."""
        self.cut()
        await asyncio.gather(*self._connections)


async def _carry_all(
    carry: Carry, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, ends: set[asyncio.StreamWriter]
) -> None:
    """Carries one direction and closes its writer."""
    try:
        await carry(reader, writer)
    except OSError:
        for end in ends:
            end.transport.abort()
    finally:
        writer.close()


@asynccontextmanager
async def forwarding(url: str, sent: Carry = carry, answered: Carry = carry) -> AsyncIterator[Forwarder]:
    """Yields a forwarder to the server at `url`."""
    forwarder = Forwarder(url, sent, answered)
    listening = await asyncio.start_server(forwarder.forward, "127.0.0.1", 0)
    forwarder.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    try:
        yield forwarder
    finally:
        listening.close()
        await forwarder.ended()


@asynccontextmanager
async def cut_once(url: str, after: int) -> AsyncIterator[tuple[str, list[bool]]]:
    """Yields the address of a forwarder that breaks one connection, after `after` bytes to the server."""
    sent, cuts = 0, list[bool]()

    async def cutting(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        while data := await reader.read(1 << 14):
            sent += len(data)
            if sent > after and not cuts:
                cuts.append(True)
                raise ConnectionAbortedError
            writer.write(data)
            await writer.drain()

    async with forwarding(url, sent=cutting) as forwarder:
        yield forwarder.url, cuts


class SwitchedLine:
    """A line to a server that is cut and mended; while it is cut, new connections break, too."""

    def __init__(self) -> None:
        self.url = ""
        self._is_up = True
        self.forwarder: Forwarder

    def cut(self) -> int:
        """Breaks every connection and returns how many there were."""
        self._is_up = False
        return self.forwarder.cut()

    def mend(self) -> None:
        """Carries new connections again."""
        self._is_up = True

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carries all bytes unchanged while the line is up."""
        while data := await reader.read(1 << 16):
            if not self._is_up:
                raise ConnectionAbortedError
            writer.write(data)
            await writer.drain()


@asynccontextmanager
async def switched(url: str) -> AsyncIterator[SwitchedLine]:
    """Yields a line to the server at `url`, which is up."""
    line = SwitchedLine()
    async with forwarding(url, line.carry, line.carry) as forwarder:
        line.forwarder, line.url = forwarder, forwarder.url
        yield line
