"""What can happen to a task's host whatever its scheme: the events that wait in its mailbox."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from backend.errors import MingaError
from backend.server.hosting.client_link import ClientLink
from backend.stores.contracts import EvaluationRecord, VersionRecord

Message = TypeVar("Message")


# Clients.


# The most frequent event: with slots it costs less to make.
@dataclass(frozen=True, slots=True)
class FrameReceived(Generic[Message]):
    """A client sent a message after its first one."""

    client: str
    link: ClientLink
    message: Message


@dataclass(frozen=True)
class ConnectionLost:
    """A client's connection ended without a goodbye."""

    client: str
    link: ClientLink


# The owner.


@dataclass(frozen=True)
class ClientsDismissed:
    """The owner ends the connections of these clients, None for all, and tells them `error`."""

    clients: Collection[str] | None
    error: MingaError


@dataclass(frozen=True)
class PauseRequested:
    """Nothing more may open; what is open ends as it would, or at once for the reason `cut`."""

    cut: str | None


@dataclass(frozen=True)
class ResumeRequested:
    """Training may open again."""


@dataclass(frozen=True)
class FinishRequested:
    """The task ends; what is open still ends as it would, or at once where it is `cut`."""

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
