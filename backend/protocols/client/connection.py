"""A client's contact with the server of its task, as a value without I/O; `connection.ts` is its mirror.

The machines of clients (rounds, mesh, work units) own one each and call its steps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from backend.protocols.client.participant_events import Connect
from backend.wire.messages import Closing

FIRST_DELAY = 0.5
LONGEST_DELAY = 30.0
# Beyond so many failed attempts the delay no longer grows, and the power would one day overflow.
MOST_ATTEMPTS = 10
# Whom the server sent away comes back as if so many attempts had failed: not within its limits' seconds.
DISMISSED_ATTEMPTS = 4
# After these a client stays away until somebody asks for it anew.
FINAL = ("replaced", "unfit", "removed", "banned", "closed")


class ConnectionState(StrEnum):
    """The connection: CLOSED by choice, OPENING for the first time, LOST until the next attempt succeeds.

    GREETED once the client's first frame was sent, OPEN after the server's.
    """

    CLOSED = "closed"
    OPENING = "opening"
    LOST = "lost"
    GREETED = "greeted"
    OPEN = "open"


# What a client does while its link is not open, in a word that is a phase of every machine.
_AWAY = {
    ConnectionState.CLOSED: "stopped",
    ConnectionState.OPENING: "connecting",
    ConnectionState.LOST: "offline",
    ConnectionState.GREETED: "connecting",
}


@dataclass(frozen=True)
class Contact:
    """Over as many connections as it takes. Each step returns the contact after it.

    `attempts` failed since the link was open. `dismissal`: why the server closed it, until it is open again.
    """

    link: ConnectionState = ConnectionState.CLOSED
    attempts: int = 0
    dismissal: str | None = None

    @property
    def is_closed(self) -> bool:
        """Whether the client takes no part."""
        return self.link is ConnectionState.CLOSED

    @property
    def is_open(self) -> bool:
        """Whether the server has taken the client in."""
        return self.link is ConnectionState.OPEN

    @property
    def awaits_greeting(self) -> bool:
        """Whether a socket that opens now is the client's, to be greeted on."""
        return self.link in (ConnectionState.OPENING, ConnectionState.LOST)

    @property
    def away(self) -> str | None:
        """The phase of a client whose link is not open, else None."""
        return _AWAY.get(self.link)

    def started(self) -> tuple[Contact, Connect]:
        """The client takes part from now on."""
        return Contact(ConnectionState.OPENING), Connect(0.0)

    def greeted(self) -> Contact:
        """The client's first frame goes out."""
        return replace(self, link=ConnectionState.GREETED)

    def welcomed(self) -> Contact:
        """The server took the client in."""
        return Contact(ConnectionState.OPEN)

    def disconnected(self, random: float) -> tuple[Contact, list[Connect]]:
        """The socket closed or could not be opened; `random` in [0, 1) spreads the next attempt."""
        if self.is_closed:
            return self, []
        delay = min(LONGEST_DELAY, FIRST_DELAY * 2.0**self.attempts) * (0.5 + random)
        attempts = min(self.attempts + 1, MOST_ATTEMPTS)
        return replace(self, link=ConnectionState.LOST, attempts=attempts), [Connect(delay)]

    def dismissed(self, said: Closing) -> Contact:
        """The server closes the connection: for good, or until the client comes back."""
        if said.code in FINAL:
            return self.closed()
        least = 0 if said.code == "idle" else DISMISSED_ATTEMPTS
        return replace(self, dismissal=said.reason, attempts=max(self.attempts, least))

    def closed(self) -> Contact:
        """The client takes no part any more."""
        return replace(self, link=ConnectionState.CLOSED)
