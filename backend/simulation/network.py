"""Lines with a latency and a rate, and connections over them that can break at any moment."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from backend.errors import MingaError
from backend.wire.codec import encode
from backend.wire.messages import Closing

# TCP, TLS and the upgrade to a WebSocket: round trips before the first frame.
HANDSHAKE_TRIPS = 3
# IP, TCP, TLS and WebSocket headers of a frame of up to one segment; longer ones hardly add to their bytes.
FRAME_OVERHEAD = 60


@dataclass
class Pipe:
    """One direction of a line: `rate` bytes a second, one thing after the other. `carried` counts bytes."""

    rate: float
    free_at: float = 0.0
    carried: int = 0

    def send(self, size: int, now: float) -> float:
        """When the last of `size` bytes that are handed over `now` has left."""
        self.free_at = max(self.free_at, now) + size / self.rate
        self.carried += size
        return self.free_at

    def drop(self, now: float) -> None:
        """Forgets what was queued."""
        self.free_at = min(self.free_at, now)


@dataclass
class SimulatedLine:
    """A client's line to the internet; `latency` is one way, in seconds."""

    up: Pipe
    down: Pipe
    latency: float


class Caller(Protocol):
    """The client's end of a connection, as the network sees it."""

    def heard(self, frame: bytes) -> None:
        """A frame arrived."""
        ...

    def cut_off(self, connection: SimulatedConnection) -> None:
        """The connection ended from the server's side."""
        ...


def nobody_takes(_frame: bytes) -> bool:
    """Every frame waits for its turn."""
    return False


@dataclass(eq=False)
class SimulatedConnection:
    """A WebSocket between a caller and the server. Implements `client_link.Link` for the host.

    `frames` is what arrived at the server, in order; None at the end. What `take` wants of it is handed over
    at once instead.
    """

    loop: asyncio.AbstractEventLoop
    line: SimulatedLine
    server: SimulatedLine
    caller: Caller
    frames: asyncio.Queue[bytes | None] = field(default_factory=asyncio.Queue)
    closing: bool = False
    take: Callable[[bytes], bool] = nobody_takes
    _up: bool = True
    _down: bool = True

    # The caller's side.

    def say(self, frame: bytes, more: int = 0) -> None:
        """Sends to the server a frame that counts for `more` bytes than it has."""
        self._go_up(len(frame) + more, frame)

    def hang_up(self) -> None:
        """Closes in good order: the server hears all that was said before."""
        self._down = False
        self._go_up(0, None)

    def break_down(self, unnoticed: float) -> None:
        """Loses everything that is under way; the server notices after `unnoticed` seconds."""
        now = self.loop.time()
        self._up = self._down = False
        self.line.up.drop(now)
        self.line.down.drop(now)
        self.loop.call_at(now + unnoticed, self.frames.put_nowait, None)

    # The server's side.

    def send(self, frame: bytes) -> None:
        """See Link."""
        if not self.closing:
            self.loop.call_at(self._come_down(len(frame)), self._reach_caller, frame)

    def close(self, error: MingaError) -> None:
        """See Link."""
        if not self.closing:
            self.send(encode(Closing(code=error.code, reason=str(error)[:500])))
            self.end()

    def end(self) -> None:
        """Closes from the server's side, after what was sent."""
        if self.closing:
            return
        self.closing = True
        self.loop.call_at(self._come_down(0), self._end_for_caller)
        self.frames.put_nowait(None)

    def die(self) -> None:
        """The server is gone: nothing more arrives there, and the caller notices."""
        self._up, self.closing = False, True
        self.loop.call_later(self.line.latency, self._end_for_caller)

    def _come_down(self, size: int) -> float:
        """When a frame of `size` bytes reaches the caller."""
        size += FRAME_OVERHEAD
        return self.line.down.send(size, self.server.down.send(size, self.loop.time())) + self.line.latency

    def _go_up(self, size: int, frame: bytes | None) -> None:
        size += FRAME_OVERHEAD
        left = self.line.up.send(size, self.loop.time()) + self.line.latency
        self.loop.call_at(left, self._at_the_servers_line, size, frame)

    def _at_the_servers_line(self, size: int, frame: bytes | None) -> None:
        # Only now, so that a slow line holds up nobody else.
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


class Door(Protocol):
    """Where connections are taken in."""

    @property
    def line(self) -> SimulatedLine:
        """The server's line; its latency does not count."""
        ...

    def enter(self, connection: SimulatedConnection) -> bool:
        """Takes a connection; False when the server is down."""
        ...


def dial(
    line: SimulatedLine, door: Door, caller: Caller, opened: Callable[[SimulatedConnection | None], None]
) -> None:
    """Opens a connection; `opened` gets it when the handshake is over, or None when nobody answered."""
    loop = asyncio.get_running_loop()
    connection = SimulatedConnection(loop, line, door.line, caller)

    def arrive() -> None:
        opened(connection if door.enter(connection) else None)

    loop.call_later(2 * HANDSHAKE_TRIPS * line.latency, arrive)


def download(line: SimulatedLine, server: SimulatedLine, size: int) -> float:
    """Seconds until `size` bytes are here by HTTP, over a connection that is open already."""
    now = asyncio.get_running_loop().time()
    return line.down.send(size, server.down.send(size, now)) + 2 * line.latency - now
