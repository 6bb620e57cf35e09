"""Clients that join a task and wait, answering pings as every client must.

Usage: python -m benchmarks.costs.idle_clients ADDRESS TASK SCHEME CLIENTS LOADING, started by
benchmarks.costs.idle. All but LOADING of them say that they are ready, and where SCHEME is volunteer that
they want a unit. Prints `joined SECONDS` when all are in. The first line that it reads ends it: it prints how
many are in still, and bytes received.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import sys
import time
from typing import Any

from websockets.client import ClientProtocol
from websockets.frames import Frame, Opcode
from websockets.http11 import Response
from websockets.uri import parse_uri

from backend.wire.codec import decode_server, encode
from backend.wire.messages import PROTOCOL, Closing, Hello, Ready, State
from backend.wire.unit_messages import UNITS_PROTOCOL, Board, Enlist, Want
from backend.wire.units_codec import decode_to_units

# Handshakes under way at a time.
AT_ONCE = 64


class Waiting(asyncio.Protocol):
    """One client. `joined` is done when the server has let it in and first told it how the task stands."""

    def __init__(self, address: str, task: str, units: bool, ready: bool) -> None:
        self._units, self._ready = units, ready
        self.joined = asyncio.get_running_loop().create_future()
        self.here = False
        self.received = 0
        uri = parse_uri(f"ws://{address}/api/tasks/{task}/socket")
        protocol = UNITS_PROTOCOL if units else PROTOCOL
        self._connection = ClientProtocol(uri, subprotocols=[protocol], max_size=1 << 20)  # type: ignore[list-item]
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
        token = secrets.token_urlsafe(24)
        who: dict[str, Any] = {"kind": "browser", "backend": "none", "agent": "benchmark", "token": token}
        first = Enlist(**who, shards=[]) if self._units else Hello(**who, aggregation=["open"], min_masked=0)
        self._connection.send_binary(encode(first))
        if self._ready:
            self._connection.send_binary(encode(Ready(backend="none", step_ms=1.0, examples=0)))
            if self._units:
                self._connection.send_binary(encode(Want(1)))

    def _hear(self, frame: bytes) -> None:
        message = decode_to_units(frame) if self._units else decode_server(frame)
        assert not isinstance(message, Closing), message.reason
        if isinstance(message, State | Board):
            self.here = True
            self.joined.set_result(None)

    def _flush(self) -> None:
        self._transport.write(b"".join(self._connection.data_to_send()))


async def join_all(address: str, task: str, units: bool, count: int, loading: int) -> list[Waiting]:
    """So many clients, all of them in; `loading` of them never say that they are ready."""
    loop, places = asyncio.get_running_loop(), asyncio.Semaphore(AT_ONCE)
    host, _, port = address.rpartition(":")

    async def join(number: int) -> Waiting:
        async with places:
            _, client = await loop.create_connection(
                lambda: Waiting(address, task, units, number >= loading), host, int(port)
            )
            await client.joined
        return client

    return await asyncio.gather(*(join(number) for number in range(count)))


async def main() -> None:
    began = time.monotonic()
    address, task, scheme, count, loading = sys.argv[1:]
    clients = await join_all(address, task, scheme == "volunteer", int(count), int(loading))
    print("joined", time.monotonic() - began, flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    here, received = sum(one.here for one in clients), sum(one.received for one in clients)
    print(json.dumps([here, received]), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
