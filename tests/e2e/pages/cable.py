"""A cable between browsers and a server, which can be pulled for a moment."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit


class Cable:
    """`url` leads to the server through it."""

    def __init__(self) -> None:
        self.url = ""
        self._ends: set[asyncio.StreamWriter] = set()

    def pull(self) -> int:
        """Ends every connection at once; how many there were. New ones may be made."""
        ends = list(self._ends)
        for end in ends:
            end.transport.abort()
        return len(ends) // 2

    async def carry(
        self, host: str, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """One connection, until one side or `pull` ends it."""
        from_server, to_server = await asyncio.open_connection(host, port)
        both = {writer, to_server}
        self._ends |= both
        with suppress(OSError):
            await asyncio.gather(_copy(reader, to_server), _copy(from_server, writer))
        self._ends -= both


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    finally:
        writer.close()


@asynccontextmanager
async def cable(url: str) -> AsyncIterator[Cable]:
    """A cable to the server at `url`."""
    address = urlsplit(url)
    host, port = str(address.hostname), int(address.port or 0)
    one = Cable()
    listening = await asyncio.start_server(
        lambda reader, writer: one.carry(host, port, reader, writer), "127.0.0.1", 0
    )
    one.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    try:
        yield one
    finally:
        one.pull()
        listening.close()
