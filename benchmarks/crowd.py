"""Clients that join a task and wait, answering pings as every client must.

Usage: python -m benchmarks.crowd ADDRESS TASK CLIENTS LOADING, started by benchmarks.idle. All but LOADING of
them say that they are ready. Prints `joined SECONDS` when all are in. The first line that it reads ends it:
it prints how many are in still, and bytes received.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import sys
import time

from websockets.client import ClientProtocol
from websockets.frames import Frame, Opcode
from websockets.http11 import Response
from websockets.uri import parse_uri

from backend.wire.codec import decode_server, encode
from backend.wire.messages import PROTOCOL, Closing, Hello, Ready, State

# Handshakes under way at a time.
AT_ONCE = 64


class Waiting(asyncio.Protocol):
    """One client. `joined` is done with its first state: the server has let it in and told it so."""

    def __init__(self, address: str, task: str, ready: bool) -> None:
        self._ready = ready
        self.joined = asyncio.get_running_loop().create_future()
        self.here = False
        self.received = 0
        uri = parse_uri(f"ws://{address}/api/tasks/{task}/socket")
        self._connection = ClientProtocol(uri, subprotocols=[PROTOCOL], max_size=1 << 20)  # type: ignore[list-item]
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._connection.send_request(self._connection.connect())
        self._flush()

    def data_received(self, data: bytes) -> None:
        self.received += len(data)
        self._connection.receive_data(data)
        for event in self._connection.events_received():
            if isinstance(event, Response):
                self._introduce(event)
            elif isinstance(event, Frame) and event.opcode is Opcode.BINARY and not self.here:
                self._hear(bytes(event.data))
        self._flush()

    def connection_lost(self, exc: Exception | None) -> None:
        self.here = False
        if not self.joined.done():
            self.joined.set_exception(exc or ConnectionError("The server closed the connection."))

    def _introduce(self, response: Response) -> None:
        assert response.status_code == 101, response
        hello = Hello(token=secrets.token_urlsafe(24), kind="browser", backend="none", agent="benchmark")
        self._connection.send_binary(encode(hello))
        if self._ready:
            self._connection.send_binary(encode(Ready(backend="none", step_ms=1.0, examples=0)))

    def _hear(self, frame: bytes) -> None:
        message = decode_server(frame)
        assert not isinstance(message, Closing), message.reason
        if isinstance(message, State):
            self.here = True
            self.joined.set_result(None)

    def _flush(self) -> None:
        self._transport.write(b"".join(self._connection.data_to_send()))


async def join_all(address: str, task: str, count: int, loading: int) -> list[Waiting]:
    """So many clients, all of them in; `loading` of them never say that they are ready."""
    loop, places = asyncio.get_running_loop(), asyncio.Semaphore(AT_ONCE)
    host, _, port = address.rpartition(":")

    async def join(number: int) -> Waiting:
        async with places:
            _, client = await loop.create_connection(
                lambda: Waiting(address, task, number >= loading), host, int(port)
            )
            await client.joined
        return client

    return await asyncio.gather(*(join(number) for number in range(count)))


async def main() -> None:
    began = time.monotonic()
    clients = await join_all(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    print("joined", time.monotonic() - began, flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    here, received = sum(one.here for one in clients), sum(one.received for one in clients)
    print(json.dumps([here, received]), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
