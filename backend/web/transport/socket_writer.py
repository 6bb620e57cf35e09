"""Writes whole frames to one socket, without waiting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

from backend.errors import MingaError, TooSlowError
from backend.wire.codec import encode
from backend.wire.messages import Closing

# Key in a socket's scope, with {"connection": a SocketWriter}. Sending by ASGI may wait, so it would need a
# queue and a task for each connection.
EXTENSION = "minga.connection"
# A WebSocket close reason has at most 123 bytes.
MAX_REASON = 123

# Receives a large message before the application does. Returns whether it took the message.
LargeMessageHandler: TypeAlias = Callable[[memoryview], bool]


class SocketWriter(Protocol):
    """The server's writing side of a WebSocket. Drops frames that can no longer be sent."""

    @property
    def address(self) -> str:
        """The client's network address; "" while a trusted proxy has not named it."""
        ...

    @property
    def is_unnamed_proxy(self) -> bool:
        """Whether the address is that of a proxy which the operator did not name."""
        ...

    @property
    def backlog(self) -> int:
        """The number of bytes that the system has not accepted yet."""
        ...

    def push(self, frame: bytes) -> None:
        """Sends a binary message; never waits."""
        ...

    def refuse(self, error: MingaError) -> None:
        """Sends the reason, reads no more, and ends the connection."""
        ...

    def set_large_handler(self, handler: LargeMessageHandler) -> None:
        """Offers every later large message to `handler` first."""
        ...


def last_frame(error: MingaError) -> bytes:
    """Returns the frame with the reason why a connection ends."""
    return encode(Closing(code=error.code, reason=str(error)[:500]))


def close_reason(error: MingaError) -> str:
    """Returns the reason, cut to the length of a close frame's."""
    return str(error).encode()[:MAX_REASON].decode(errors="ignore")


class SocketLink:
    """The task host's side of one connection, with at most `max_backlog` waiting bytes. Implements Link."""

    def __init__(self, connection: SocketWriter, max_backlog: int) -> None:
        self._connection = connection
        self._max_backlog = max_backlog
        self.closing = False
        # The account or invitation by which the client was let in.
        self.identity = ""
        self.volunteer = ""

    def set_large_handler(self, handler: LargeMessageHandler) -> None:
        """See SocketWriter."""
        self._connection.set_large_handler(handler)

    @property
    def address(self) -> str:
        """See SocketWriter."""
        return self._connection.address

    @property
    def is_unnamed_proxy(self) -> bool:
        """See SocketWriter."""
        return self._connection.is_unnamed_proxy

    @property
    def backlog(self) -> int:
        """See SocketWriter."""
        return self._connection.backlog

    def send(self, frame: bytes) -> None:
        """See Link."""
        if self.closing:
            return
        if self._connection.backlog + len(frame) > self._max_backlog:
            self.close(
                TooSlowError("You read too slowly for this task. Connect again with a better connection.")
            )
            return
        self._connection.push(frame)

    def close(self, error: MingaError) -> None:
        """See Link."""
        if not self.closing:
            self.closing = True
            self._connection.refuse(error)
