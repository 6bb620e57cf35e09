"""A task host's view of one connection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from backend.errors import MingaError
from backend.wire.messages import Aggregation, Kind, Status


class ClientLink(Protocol):
    """Somebody's connection; whoever accepted it owns it."""

    def send(self, frame: bytes) -> None:
        """Queues a frame. Never waits: a reader that is too slow loses the connection instead."""
        ...

    def close(self, error: MingaError) -> None:
        """Says why, then closes."""
        ...


class MeasuredLink(ClientLink, Protocol):
    """A connection of which one knows how much waits on it."""

    @property
    def backlog(self) -> int:
        """Bytes that it has not taken yet."""
        ...


@dataclass
class ConnectedClient:
    """A connected client, whose updates are added up by `aggregation`. Owned by the task host.

    Where they are masked, it takes part among `min_masked` clients at least.
    """

    id: str
    kind: Kind
    backend: str
    link: ClientLink
    aggregation: Aggregation = "open"
    min_masked: int = 0
    # Bytes of frames to it, and of updates from it, over this connection.
    sent: int = 0
    received: int = 0


@dataclass(frozen=True)
class Presence:
    """A connected client as the task's owner sees it: what it does now, and how long a step takes it (0.0
    where it has not said). Bytes are those of frames to it and of updates from it, over this connection."""

    client: str
    kind: Kind
    backend: str
    status: Status
    step_ms: float
    sent: int
    received: int
