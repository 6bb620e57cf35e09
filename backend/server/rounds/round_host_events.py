"""What can happen to a task in federated rounds: the events that wait in its host's mailbox."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TypeAlias

from backend.errors import MingaError
from backend.server.hosting.client_link import ConnectedClient
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
    """The owner makes the earlier version `kept` the next one, for `reason`; `done` is its record then."""

    kept: StoredVersion
    reason: str
    done: asyncio.Future[VersionRecord]

    def succeed(self, version: VersionRecord) -> None:
        """It is recorded as the newest version."""
        if not self.done.done():
            self.done.set_result(version)

    def fail(self, error: MingaError) -> None:
        """It could not be made the newest version."""
        if not self.done.done():
            self.done.set_exception(error)


@dataclass(frozen=True)
class RollbackFailed:
    """The earlier version could not be recorded as the next one."""


@dataclass(frozen=True)
class UpdateAdded:
    """An accepted update of round `round` is in the aggregate, so that nobody needs its bytes any more."""

    client: str
    round: int


@dataclass(frozen=True)
class MasksRemoved:
    """The masks are off the sum of the round."""


@dataclass(frozen=True)
class SharesMismatched:
    """What clients revealed does not take the masks off the sum."""


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
    | VersionWritten
    | VersionFailed
    | EvaluationWritten
)
