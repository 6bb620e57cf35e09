"""Simulates lines with latency and rate, and connections over them that can break at any time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from backend.errors import MingaError
from backend.wire.codec import encode
from backend.wire.messages import Closing

# Round trips before the first frame, for TCP, TLS and the upgrade to a WebSocket.
HANDSHAKE_TRIPS = 3
# Bytes of IP, TCP, TLS and WebSocket headers of a frame in one segment; negligible for longer frames.
FRAME_OVERHEAD = 60


@dataclass
class Pipe:
    """One direction of a line, which sends `rate` bytes per second in order. `carried` counts bytes."""

    rate: float
    free_at: float = 0.0
    carried: int = 0

    def send(self, size: int, now: float) -> float:
        """Queues `size` bytes at the time `now`; returns when the last of them is sent."""
        self.free_at = max(self.free_at, now) + size / self.rate
        self.carried += size
        return self.free_at

    def drop(self, now: float) -> None:
        """Discards queued bytes."""
        self.free_at = min(self.free_at, now)


@dataclass
class SimulatedLine:
    """A client's line to the internet; `latency` is one way, in seconds."""

    up: Pipe
    down: Pipe
    latency: float


class Caller(Protocol):
    """The client's end of a connection, which the network notifies."""

    def heard(self, frame: bytes) -> None:
        """Handles a frame that arrived."""
        ...

    def cut_off(self, connection: SimulatedConnection) -> None:
        """Handles the end of the connection by the server."""
        ...


def take_nothing(_frame: bytes) -> bool:
    """Returns False: no frame bypasses the queue."""
    return False


@dataclass(eq=False)
class SimulatedConnection:
    """A simulated WebSocket between a caller and the server. Implements `MeasuredLink` for the host.

    `frames` queues the frames that arrived at the server, in order; None marks the end. `take` may handle a
    frame on arrival; then it is not queued.
    """

    loop: asyncio.AbstractEventLoop
    line: SimulatedLine
    server: SimulatedLine
    caller: Caller
    frames: asyncio.Queue[bytes | None] = field(default_factory=asyncio.Queue)
    closing: bool = False
    # Each simulated client is somebody else, as in the server's own network.
    address: str = "127.0.0.1"
    is_unnamed_proxy: bool = False
    identity: str = ""
    volunteer: str = ""
    take: Callable[[bytes], bool] = take_nothing
    _up: bool = True
    _down: bool = True

    # The caller's side.

    def send_to_server(self, frame: bytes, more: int = 0) -> None:
        """Sends a frame to the server, as if it were `more` bytes longer."""
        self._go_up(len(frame) + more, frame)

    def hang_up(self) -> None:
        """Closes the connection in order: the server still receives all frames sent before."""
        self._down = False
        self._go_up(0, None)

    def break_down(self, unnoticed: float) -> None:
        """Breaks the connection and loses frames in flight; the server notices after `unnoticed` seconds."""
        now = self.loop.time()
        self._up = self._down = False
        self.line.up.drop(now)
        self.line.down.drop(now)
        self.loop.call_at(now + unnoticed, self.frames.put_nowait, None)

    # The server's side.

    @property
    def backlog(self) -> int:
        """See MeasuredLink."""
        return round(max(0.0, self.line.down.free_at - self.loop.time()) * self.line.down.rate)

    def send(self, frame: bytes) -> None:
        """See MeasuredLink."""
        if not self.closing:
            self.loop.call_at(self._come_down(len(frame)), self._reach_caller, frame)

    def close(self, error: MingaError) -> None:
        """See MeasuredLink."""
        if not self.closing:
            self.send(encode(Closing(code=error.code, reason=str(error)[:500])))
            self.end()

    def end(self) -> None:
        """Closes the connection from the server's side, after all frames sent before."""
        if self.closing:
            return
        self.closing = True
        self.loop.call_at(self._come_down(0), self._end_for_caller)
        self.frames.put_nowait(None)

    def kill(self) -> None:
        """Breaks the connection because the server is gone: it gets no more frames; the caller notices."""
        self._up, self.closing = False, True
        self.loop.call_later(self.line.latency, self._end_for_caller)

    def _come_down(self, size: int) -> float:
        """Queues a frame of `size` bytes to the caller; returns when it arrives."""
        size += FRAME_OVERHEAD
        return self.line.down.send(size, self.server.down.send(size, self.loop.time())) + self.line.latency

    def _go_up(self, size: int, frame: bytes | None) -> None:
        size += FRAME_OVERHEAD
        leaves_at = self.line.up.send(size, self.loop.time()) + self.line.latency
        self.loop.call_at(leaves_at, self._at_the_servers_line, size, frame)

    def _at_the_servers_line(self, size: int, frame: bytes | None) -> None:
        # The server's line is used only now, so that a client's slow line does not block other clients.
        self.loop.call_at(self.server.up.send(size, self.loop.time()), self._reach_server, frame)

    def _reach_server(self, frame: bytes | None) -> None:
        if self._up and (frame is None or not self.take(frame)):
            self.frames.put_nowait(frame)

    def _reach_caller(self, frame: bytes) -> None:
        if self._down:
            self.caller.heard(frame)

    def _end_for_caller(self) -> None:
        if self._down:
            self._up = self._down = False
            self.caller.cut_off(self)


class ServerEndpoint(Protocol):
    """The server's end of all connections."""

    @property
    def line(self) -> SimulatedLine:
        """The server's line; its latency is ignored."""
        ...

    def enter(self, connection: SimulatedConnection) -> bool:
        """Accepts a connection; returns False if the server is down."""
        ...


def dial(
    line: SimulatedLine,
    endpoint: ServerEndpoint,
    caller: Caller,
    opened: Callable[[SimulatedConnection | None], None],
) -> None:
    """Opens a connection; calls `opened` with it after the handshake, or with None if the server is down."""
    loop = asyncio.get_running_loop()
    connection = SimulatedConnection(loop, line, endpoint.line, caller)

    def enter() -> None:
        opened(connection if endpoint.enter(connection) else None)

    loop.call_later(2 * HANDSHAKE_TRIPS * line.latency, enter)


def download(line: SimulatedLine, server: SimulatedLine, size: int) -> float:
    """Queues an HTTP download of `size` bytes over an open connection; returns its duration in seconds."""
    now = asyncio.get_running_loop().time()
    return line.down.send(size, server.down.send(size, now)) + 2 * line.latency - now
