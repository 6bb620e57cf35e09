"""Runs clients that join a task and wait, answering pings.

Usage: python -m benchmarks.costs.idle_clients ADDRESS TASK SCHEME CLIENTS LOADING, started by
benchmarks.costs.idle. All but LOADING of the clients send that they are ready; with the SCHEME volunteer they
also request a unit. The process prints `joined SECONDS` when all have joined. The first input line ends it;
it then prints the number of connected clients and the bytes received.
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

# Concurrent handshakes.
MAX_HANDSHAKES = 64


class Waiting(asyncio.Protocol):
    """A client; `joined` resolves when the server has admitted it and sent the task's first state."""

    def __init__(self, address: str, task: str, units: bool, ready: bool) -> None:
        self._units, self._ready = units, ready
        self.joined = asyncio.get_running_loop().create_future()
        self.connected = False
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
            elif isinstance(event, Frame) and event.opcode is Opcode.BINARY and not self.connected:
                self._hear(bytes(event.data))
        self._flush()

    def connection_lost(self, exc: Exception | None) -> None:
        self.connected = False
        if not self.joined.done():
            self.joined.set_exception(exc or ConnectionError("The server closed the connection."))

    def _introduce(self, response: Response) -> None:
        assert response.status_code == 101, response
        token = secrets.token_urlsafe(24)
        identity: dict[str, Any] = {
            "kind": "browser",
            "backend": "none",
            "agent": "benchmark",
            "token": token,
        }
        first = (
            Enlist(**identity, shards=[])
            if self._units
            else Hello(**identity, aggregation=["open"], min_masked=0)
        )
        self._connection.send_binary(encode(first))
        if self._ready:
            self._connection.send_binary(encode(Ready(backend="none", step_ms=1.0, examples=0)))
            if self._units:
                self._connection.send_binary(encode(Want(1)))

    def _hear(self, frame: bytes) -> None:
        message = decode_to_units(frame) if self._units else decode_server(frame)
        assert not isinstance(message, Closing), message.reason
        if isinstance(message, State | Board):
            self.connected = True
            self.joined.set_result(None)

    def _flush(self) -> None:
        self._transport.write(b"".join(self._connection.data_to_send()))


async def join_all(address: str, task: str, units: bool, count: int, loading: int) -> list[Waiting]:
    """Connects so many clients and waits until all have joined; `loading` of them never get ready."""
    loop, handshakes = asyncio.get_running_loop(), asyncio.Semaphore(MAX_HANDSHAKES)
    host, _, port = address.rpartition(":")

    async def join(number: int) -> Waiting:
        async with handshakes:
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
    connected, received = (
        sum(client.connected for client in clients),
        sum(client.received for client in clients),
    )
    print(json.dumps([connected, received]), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
