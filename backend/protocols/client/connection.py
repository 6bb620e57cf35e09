"""The connection of a client to its task's server, as a value without I/O; `connection.ts` is its mirror.

Each machine of a client (rounds, mesh, work units) owns one and calls its steps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from backend.protocols.client.participant_events import Connect
from backend.wire.messages import Closing

FIRST_DELAY = 0.5
LONGEST_DELAY = 30.0
# The delay stops growing after so many failed attempts, before its power overflows.
MOST_ATTEMPTS = 10
# A client that the server dismissed waits as after so many failed attempts, beyond the seconds of its limits.
DISMISSED_ATTEMPTS = 4
# Codes after which a client does not connect again unless a person starts it.
FINAL = ("replaced", "unfit", "not-exact", "removed", "banned", "banned-by-members", "closed")


class ConnectionState(StrEnum):
    """The state: CLOSED by choice, OPENING for the first time, LOST until the next attempt succeeds.

    GREETED after the client's first frame was sent, OPEN after the server's first frame arrived.
    """

    CLOSED = "closed"
    OPENING = "opening"
    LOST = "lost"
    GREETED = "greeted"
    OPEN = "open"


# The phase of a client, in every machine, while its connection is not open.
_AWAY = {
    ConnectionState.CLOSED: "stopped",
    ConnectionState.OPENING: "connecting",
    ConnectionState.LOST: "offline",
    ConnectionState.GREETED: "connecting",
}


@dataclass(frozen=True)
class TaskConnection:
    """Tracks the connection over all attempts. Each step returns the value after it.

    `attempts` failed since it was open. `dismissal` is why the server closed it, until it is open again.
    """

    state: ConnectionState = ConnectionState.CLOSED
    attempts: int = 0
    dismissal: str | None = None

    @property
    def is_closed(self) -> bool:
        """Whether the client does not take part."""
        return self.state is ConnectionState.CLOSED

    @property
    def is_open(self) -> bool:
        """Whether the server welcomed the client."""
        return self.state is ConnectionState.OPEN

    @property
    def awaits_greeting(self) -> bool:
        """Whether the client sends its first frame when a socket opens now."""
        return self.state in (ConnectionState.OPENING, ConnectionState.LOST)

    @property
    def away(self) -> str | None:
        """The phase of a client whose connection is not open, else None."""
        return _AWAY.get(self.state)

    def started(self) -> tuple[TaskConnection, Connect]:
        """Starts connecting."""
        return TaskConnection(ConnectionState.OPENING), Connect(0.0)

    def greeted(self) -> TaskConnection:
        """Notes that the client's first frame was sent."""
        return replace(self, state=ConnectionState.GREETED)

    def welcomed(self) -> TaskConnection:
        """Notes that the server welcomed the client."""
        return TaskConnection(ConnectionState.OPEN)

    def disconnected(self, random: float) -> tuple[TaskConnection, list[Connect]]:
        """Schedules the next attempt after a socket closed or did not open; `random` in [0, 1) spreads it."""
        if self.is_closed:
            return self, []
        delay = min(LONGEST_DELAY, FIRST_DELAY * 2.0**self.attempts) * (0.5 + random)
        attempts = min(self.attempts + 1, MOST_ATTEMPTS)
        return replace(self, state=ConnectionState.LOST, attempts=attempts), [Connect(delay)]

    def dismissed(self, closing: Closing) -> TaskConnection:
        """Notes that the server closes the connection, finally or until the client comes back."""
        if closing.code in FINAL:
            return self.closed()
        minimum = 0 if closing.code == "idle" else DISMISSED_ATTEMPTS
        return replace(self, dismissal=closing.reason, attempts=max(self.attempts, minimum))

    def closed(self) -> TaskConnection:
        """Closes the connection permanently."""
        return replace(self, state=ConnectionState.CLOSED)
