"""A client's connection as its task host sees it, and what the host knows of the client."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from backend.errors import MingaError
from backend.wire.messages import Aggregation, Kind, Status


class ClientLink(Protocol):
    """A client's connection. Owned by the socket that accepted it."""

    @property
    def address(self) -> str:
        """The network address that the client came from; "" where it is unknown."""
        ...

    @property
    def is_unnamed_proxy(self) -> bool:
        """Whether the address is that of a proxy which the operator did not name."""
        ...

    @property
    def identity(self) -> str:
        """The account or invitation that let the client in, as a text; "" for anybody."""
        ...

    @property
    def volunteer(self) -> str:
        """The volunteer who linked the client with others as their devices, as a digest; "" for nobody."""
        ...

    def send(self, frame: bytes) -> None:
        """Queues a frame without waiting: a client that reads too slowly loses its connection instead."""
        ...

    def close(self, error: MingaError) -> None:
        """Sends the error, then closes the connection."""
        ...


class MeasuredLink(ClientLink, Protocol):
    """A connection whose send backlog is known."""

    @property
    def backlog(self) -> int:
        """Bytes that are queued and not sent yet."""
        ...


@dataclass
class ConnectedClient:
    """A connected client, whose updates are aggregated by `aggregation`. Owned by the task host.

    Masked updates are summed over at least `min_masked` clients, few of which are of its `household`; "" is
    none.
    """

    id: str
    kind: Kind
    backend: str
    link: ClientLink
    aggregation: Aggregation = "open"
    min_masked: int = 0
    household: str = ""
    # Bytes of frames sent to it and of updates received from it, over all its connections.
    sent: int = 0
    received: int = 0


@dataclass(frozen=True)
class Presence:
    """A connected client as the task's owner sees it: its status and the length of its training step.

    `step_ms` is in milliseconds, 0.0 until the client reports it.
    """

    client: str
    kind: Kind
    backend: str
    status: Status
    step_ms: float
