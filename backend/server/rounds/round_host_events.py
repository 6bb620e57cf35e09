"""The events of a rounds host, which wait in its mailbox."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TypeAlias

from backend.errors import MingaError
from backend.server.hosting.clients.client_link import ConnectedClient
from backend.server.hosting.host_events import (
    ClientsDismissed,
    ConnectionLost,
    EvaluationWritten,
    FrameReceived,
    OwnerRequest,
    VersionFailed,
    VersionWritten,
)
from backend.server.versions.version_history import StoredVersion
from backend.stores.contracts import VersionRecord
from backend.wire.messages import ClientFrame


@dataclass(frozen=True)
class HelloReceived:
    """A client connected and may take part."""

    client: ConnectedClient


@dataclass(frozen=True)
class RollbackRequested:
    """The version `kept` is restored for a `reason`; `done` gets the record of the next one, for an owner."""

    kept: StoredVersion
    reason: str
    done: asyncio.Future[VersionRecord] | None = None

    def succeed(self, version: VersionRecord) -> None:
        """Returns the record of the newest version to the owner."""
        if self.done and not self.done.done():
            self.done.set_result(version)

    def fail(self, error: MingaError) -> None:
        """Returns the error to the owner."""
        if self.done and not self.done.done():
            self.done.set_exception(error)


@dataclass(frozen=True)
class RollbackFailed:
    """The earlier version could not be recorded as the next one."""


@dataclass(frozen=True)
class UpdateAdded:
    """An accepted update of round `round` is in the aggregate, so that its buffer can be released."""

    client: str
    round: int


@dataclass(frozen=True)
class MasksRemoved:
    """The masks were removed from the sum of a group of round `round`."""

    round: int
    group: int


@dataclass(frozen=True)
class SharesMismatched:
    """The revealed shares of the clients at the places `owners` of a group do not rebuild their secrets."""

    round: int
    group: int
    owners: tuple[int, ...]


@dataclass(frozen=True)
class SumMeaningless:
    """The masks were removed from the sum of a group, which does not decode; `reason` says why."""

    round: int
    group: int
    reason: str


RoundHostEvent: TypeAlias = (
    HelloReceived
    | FrameReceived[ClientFrame]
    | ConnectionLost
    | ClientsDismissed
    | OwnerRequest
    | RollbackRequested
    | RollbackFailed
    | UpdateAdded
    | MasksRemoved
    | SharesMismatched
    | SumMeaningless
    | VersionWritten
    | VersionFailed
    | EvaluationWritten
)
