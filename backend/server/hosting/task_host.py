"""What the registry, the pages, the API and the sockets ask of a task's host, whatever its scheme."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Protocol

from backend.errors import MingaError
from backend.server.hosting.admission import AdmissionControl
from backend.server.hosting.client_link import Presence
from backend.server.observers.observer import Companion
from backend.server.tasks.task import Task
from backend.server.versions.version_history import VersionHistory
from backend.wire.messages import Phase


class TaskHost(Protocol):
    """Owns what happens to one task. TaskHost and MeshHost are its kinds."""

    @property
    def task(self) -> Task: ...
    @property
    def history(self) -> VersionHistory: ...
    @property
    def name(self) -> str: ...

    @property
    def phase(self) -> Phase:
        """What happens now, in the wire's word."""
        ...

    @property
    def round(self) -> int:
        """Number of the last round that was opened."""
        ...

    @property
    def participants(self) -> int:
        """Number of connected clients."""
        ...

    @property
    def clients(self) -> Sequence[tuple[str, str]]:
        """Kind and backend of each connected client."""
        ...

    @property
    def presences(self) -> Sequence[Presence]:
        """Each connected client, as the task's owner sees it."""
        ...

    @property
    def privacy(self) -> dict[str, Any] | None:
        """What is told of its clients' privacy (docs/reference/http.md); None without [privacy]."""
        ...

    @property
    def waiting(self) -> int:
        """Number of events that wait in the inbox."""
        ...

    @property
    def received(self) -> int:
        """Bytes of updates, or of weights, received since the start."""
        ...

    @property
    def sent(self) -> int:
        """Bytes sent since the start: frames, and blobs by HTTP."""
        ...

    @property
    def carried(self) -> int:
        """Bytes carried from peer to peer since the start."""
        ...

    @property
    def ways(self) -> Sequence[str]:
        """How peers are linked, once for each end of a link."""
        ...

    @property
    def trouble(self) -> str | None:
        """Why the task waits for its stores; None while all is well."""
        ...

    def has(self, address: str) -> bool:
        """Whether a blob belongs to this task."""
        ...

    def fetched(self, address: str, count: int) -> bool:
        """Somebody fetches so many bytes of a blob; whether it belongs to this task."""
        ...

    def add(self, companion: Companion) -> None:
        """Has it told what happens, and lets it run as long as the host does. Before `run`."""
        ...

    @property
    def admission(self) -> AdmissionControl:
        """Who may take part; asked at every join."""
        ...

    async def pause(self, cut: str | None = None) -> None:
        """No round opens from now on; an open one still ends as it would, or at once for the reason `cut`."""
        ...

    async def resume(self) -> None:
        """Rounds open again."""
        ...

    async def finish(self, reason: str, cut: bool = False) -> None:
        """Ends the task; a round that is open still ends as it would, or at once where it is to be `cut`."""
        ...

    async def send_away(self, clients: Collection[str] | None, error: MingaError) -> None:
        """Ends the connections of those of `clients` who are here, None for everybody, and tells them why."""
        ...

    @property
    def needed(self) -> int:
        """How many more clients must be ready before a round opens."""
        ...

    @property
    def reason_to_finish(self) -> str | None:
        """Why no more rounds follow; None while they do."""
        ...

    async def run(self) -> None:
        """Hosts the task until cancelled."""
        ...
