"""The outgoing side of one socket: whole frames, written at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

from backend.errors import MingaError, TooSlowError
from backend.wire.codec import encode
from backend.wire.messages import Closing

# In the scope of a socket: {"connection": a Connection}. To send by ASGI, which may wait, each connection
# would need a queue and a task of its own.
EXTENSION = "minga.connection"
# A WebSocket close reason has at most 123 bytes.
MAX_REASON = 123

# Is offered a large message before everybody else; whether it took it.
Taker: TypeAlias = Callable[[memoryview], bool]


class SocketWriter(Protocol):
    """A WebSocket as its server sees it. What cannot be sent any more is forgotten."""

    @property
    def backlog(self) -> int:
        """Bytes that the system has not taken yet."""
        ...

    def push(self, frame: bytes) -> None:
        """Sends a binary message; never waits."""
        ...

    def refuse(self, error: MingaError) -> None:
        """Says why, hears no more, and ends the connection."""
        ...

    def take_by(self, taker: Taker) -> None:
        """Offers every large message to `taker` from now on."""
        ...


def last_frame(error: MingaError) -> bytes:
    """What a connection that ends is told."""
    return encode(Closing(code=error.code, reason=str(error)[:500]))


def close_reason(error: MingaError) -> str:
    """The same within a close frame, as much of it as has room there."""
    return str(error).encode()[:MAX_REASON].decode(errors="ignore")


class SocketLink:
    """The task host's side of one connection, on which at most `most` bytes wait. Implements Link."""

    def __init__(self, connection: SocketWriter, most: int) -> None:
        self._connection = connection
        self._most = most
        self.closing = False

    def take_by(self, taker: Taker) -> None:
        """See Connection."""
        self._connection.take_by(taker)

    @property
    def backlog(self) -> int:
        """See Connection."""
        return self._connection.backlog

    def send(self, frame: bytes) -> None:
        """See Link."""
        if self.closing:
            return
        if self._connection.backlog + len(frame) > self._most:
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
