"""Events in the mailbox of a task's host that every scheme has."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from backend.errors import MingaError
from backend.server.hosting.clients.client_link import ClientLink
from backend.stores.contracts import EvaluationRecord, VersionRecord

Message = TypeVar("Message")


# Clients.


# The most frequent event: slots make its creation cheaper.
@dataclass(frozen=True, slots=True)
class FrameReceived(Generic[Message]):
    """A client sent a message after its first one."""

    client: str
    link: ClientLink
    message: Message


@dataclass(frozen=True)
class ConnectionLost:
    """A client's connection ended without a Leave message."""

    client: str
    link: ClientLink


# The owner.


@dataclass(frozen=True)
class ClientsDismissed:
    """The owner ends the connections of these clients, None for all, with `error`."""

    clients: Collection[str] | None
    error: MingaError


@dataclass(frozen=True)
class PauseRequested:
    """No round may open; an open round ends normally, or immediately for the reason `cut`."""

    cut: str | None


@dataclass(frozen=True)
class ResumeRequested:
    """Rounds may open again."""


@dataclass(frozen=True)
class FinishRequested:
    """The task ends; an open round ends normally, or immediately if `cut`."""

    reason: str
    cut: bool


# Jobs.


@dataclass(frozen=True)
class VersionWritten:
    """The next version is recorded."""

    version: VersionRecord


@dataclass(frozen=True)
class VersionFailed:
    """The next version could not be made or recorded."""

    reason: str


@dataclass(frozen=True)
class EvaluationWritten:
    """A measurement of a version on held-out examples is recorded."""

    evaluation: EvaluationRecord


OwnerRequest: TypeAlias = PauseRequested | ResumeRequested | FinishRequested
