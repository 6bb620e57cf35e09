"""Clients that train nothing: they download every version and upload a full update.

Usage: python -m benchmarks.support.update_clients ADDRESS TASK CLIENTS VALUES VERSIONS, started by
benchmarks.rounds. Downloads use HTTP and uploads the socket. All clients of a process share one random
update. The process prints `version N` when its first client learns of a version, and at the end one line of
JSON with the bytes on the wire at every version, summed over all clients.
"""

from __future__ import annotations

import json
import secrets
import socket
import sys
from collections.abc import Iterator
from threading import Thread

import numpy as np
from websockets.client import ClientProtocol
from websockets.frames import Frame, Opcode
from websockets.http11 import Response
from websockets.uri import parse_uri

from backend.wire.codec import decode_server, encode
from backend.wire.messages import (
    CHUNK_BYTES,
    PROTOCOL,
    Chunk,
    ClientFrame,
    Closing,
    Credit,
    Hello,
    Offer,
    Ready,
    Refused,
    ServerFrame,
    Train,
    Version,
)

BLOCK = 1 << 18


class Volunteer(Thread):
    """A client; `traffic` holds its (sent, received) bytes at every version."""

    def __init__(
        self, address: tuple[str, int], task: str, update: memoryview, versions: int, leads: bool
    ) -> None:
        super().__init__()
        self.traffic: list[tuple[int, int]] = []
        self._versions = versions
        self._leads = leads
        self._update = update
        self._address = address
        self._block = memoryview(bytearray(BLOCK))
        self._sent = self._received = 0
        self._http = socket.create_connection(address)
        self._socket = socket.create_connection(address)
        uri = parse_uri(f"ws://{address[0]}:{address[1]}/api/tasks/{task}/socket")
        self._connection = ClientProtocol(uri, subprotocols=[PROTOCOL])  # type: ignore[list-item]

    def run(self) -> None:
        """Takes part until the last version."""
        self._connection.send_request(self._connection.connect())
        self._flush()
        plan, sent = None, 0
        for message in self._frames():
            match message:
                case Train():
                    self.begin_round()
                    self._fetch(message.weights)
                    plan, sent = message, 0
                    self._offer(message)
                case Credit():
                    assert plan is not None
                    sent = self._send(plan, sent, message.until)
                    if sent == len(self._update):
                        self.end_upload()
                case Version():
                    self.traffic.append((self._sent, self._received))
                    self.end_round(message.version)
                    if message.version == self._versions:
                        return
                case Refused() | Closing():
                    raise RuntimeError(message.reason)

    def begin_round(self) -> None:
        """Is called before it fetches the version of a round; may block."""

    def end_upload(self) -> None:
        """Is called when it has written the last byte of its update."""

    def end_round(self, version: int) -> None:
        """Is called when it learns of `version`."""
        if self._leads:
            print("version", version, flush=True)

    def _introduce(self) -> None:
        self._say(
            Hello(
                token=secrets.token_urlsafe(24),
                kind="peer",
                backend="none",
                agent="benchmark",
                aggregation=["open"],
                min_masked=0,
            )
        )
        self._say(Ready(backend="none", step_ms=1.0, examples=0))

    def _offer(self, plan: Train) -> None:
        self._say(
            Offer(
                round=plan.round,
                version=plan.version,
                examples=plan.epochs * sum(shard.examples for shard in plan.shards),
                steps=1,
                loss=0.5,
                sums=[(0.5, 1.0)],
                size=len(self._update),
            )
        )

    def _send(self, plan: Train, sent: int, until: int) -> int:
        while sent < until:
            part = self._update[sent : min(until, sent + CHUNK_BYTES)]
            self._say(Chunk(round=plan.round, offset=sent, data=part))
            sent += len(part)
        return sent

    def _say(self, message: ClientFrame) -> None:
        self._connection.send_binary(encode(message))
        self._flush()

    def _flush(self) -> None:
        for data in self._connection.data_to_send():
            self._socket.sendall(data)
            self._sent += len(data)

    def _frames(self) -> Iterator[ServerFrame]:
        while True:
            length = self._socket.recv_into(self._block)
            if not length:
                raise RuntimeError("The server closed the connection.")
            self._received += length
            self._connection.receive_data(bytes(self._block[:length]))
            self._flush()
            for event in self._connection.events_received():
                if isinstance(event, Response):
                    assert event.status_code == 101, event
                    self._introduce()
                elif isinstance(event, Frame) and event.opcode is Opcode.BINARY:
                    yield decode_server(bytes(event.data))

    def _fetch(self, address: str) -> None:
        """Downloads a blob over a persistent connection and discards it."""
        request = (
            f"GET /blobs/{address} HTTP/1.1\r\nHost: {self._address[0]}:{self._address[1]}\r\n\r\n".encode()
        )
        head = self._ask(request)
        while b"\r\n\r\n" not in head:
            head += self._receive_some(BLOCK)
        head, _, rest = head.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200"), head
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
        remaining = int(fields[b"content-length"]) - len(rest)
        assert remaining + len(rest) == len(self._update)
        while remaining:
            remaining -= len(self._receive_some(remaining))

    def _ask(self, request: bytes) -> bytes:
        """Returns the first bytes of the answer; reopens a connection that the server has closed."""
        try:
            self._http.sendall(request)
            head = self._receive_some(BLOCK)
        except (ConnectionError, RuntimeError):
            self._http.close()
            self._http = socket.create_connection(self._address)
            self._http.sendall(request)
            head = self._receive_some(BLOCK)
        self._sent += len(request)
        return head

    def _receive_some(self, max_bytes: int) -> bytes:
        length = self._http.recv_into(self._block[: min(max_bytes, BLOCK)])
        if not length:
            raise RuntimeError("The server closed an HTTP connection.")
        self._received += length
        return bytes(self._block[:length])


def main() -> None:
    host, _, port = sys.argv[1].rpartition(":")
    task, clients, values, versions = sys.argv[2], *map(int, sys.argv[3:6])
    generator = np.random.default_rng(clients)
    update = memoryview((1e-4 * generator.standard_normal(values, np.float32)).tobytes())
    volunteers = [
        Volunteer((host, int(port)), task, update, versions, leads=number == 0) for number in range(clients)
    ]
    for volunteer in volunteers:
        volunteer.start()
    for volunteer in volunteers:
        volunteer.join()
    totals = np.sum([volunteer.traffic for volunteer in volunteers], axis=0)
    print(json.dumps(totals.tolist()), flush=True)


if __name__ == "__main__":
    main()
