"""The host of a task: what registry, pages, API and sockets ask of it, whatever the scheme."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from backend.errors import MingaError
from backend.server.hosting.admission import AdmissionControl
from backend.server.hosting.background_tasks import BackgroundTasks
from backend.server.hosting.client_link import ClientLink, Presence
from backend.server.hosting.connected_clients import ConnectedClients
from backend.server.hosting.host_events import (
    ClientsDismissed,
    ConnectionLost,
    FinishRequested,
    PauseRequested,
    ResumeRequested,
)
from backend.server.hosting.mailbox import Mailbox
from backend.server.observers.observer import Companion, Observers
from backend.server.tasks.task import Task
from backend.server.versions.version_history import VersionHistory
from backend.wire.messages import Phase


class TaskHost(ABC):
    """Owns what happens to one task: its clients, its mailbox, and its companions.

    Every event waits in one bounded mailbox and is handled by one loop, so no host needs a lock. The events
    of `mailbox` include those of `host_events` that this class puts into it. `observers` are told what
    happens, `background` are the jobs that run beside the loop.
    """

    def __init__(
        self,
        task: Task,
        history: VersionHistory,
        mailbox: Mailbox[Any],
        connected: ConnectedClients,
        background: BackgroundTasks,
        observers: Observers,
    ) -> None:
        self.task = task
        self.history = history
        self.admission = AdmissionControl()
        self._mailbox = mailbox
        self._connected = connected
        self._background = background
        self._observers = observers
        self._companions: list[Companion] = []
        self._addresses = task.addresses()
        # Bytes of blobs fetched since the start.
        self._blob_bytes = 0

    @property
    def name(self) -> str:
        """The task's name."""
        return self.task.file.name

    # What its machine says.

    @property
    @abstractmethod
    def phase(self) -> Phase:
        """What happens now, in the wire's word."""

    @property
    @abstractmethod
    def round(self) -> int:
        """Number of the last round, or epoch of work units, that was opened."""

    @property
    @abstractmethod
    def needed(self) -> int:
        """How many more clients must be ready before a round opens."""

    @property
    @abstractmethod
    def reason_to_finish(self) -> str | None:
        """Why no more rounds follow; None while they do."""

    @property
    def privacy(self) -> dict[str, Any] | None:
        """What is told of its clients' privacy (docs/reference/http.md); None without [privacy]."""
        return None

    # Clients.

    @property
    def participants(self) -> int:
        """Number of connected clients."""
        return len(self._connected.clients)

    @property
    def clients(self) -> Sequence[tuple[str, str]]:
        """Kind and backend of each connected client."""
        return [(one.kind, one.backend) for one in self._connected.clients.values()]

    @property
    @abstractmethod
    def presences(self) -> Sequence[Presence]:
        """Each connected client, as the task's owner sees it."""

    @property
    def ways(self) -> Sequence[str]:
        """How peers are linked, once for each end of a link."""
        return []

    async def leave(self, client: str, link: ClientLink) -> None:
        """A client's connection ended."""
        await self._mailbox.put(ConnectionLost(client, link))

    # Figures.

    @property
    def waiting(self) -> int:
        """Number of events that wait in the mailbox."""
        return self._mailbox.waiting

    @property
    @abstractmethod
    def received(self) -> int:
        """Bytes of updates, or of weights, received since the start."""

    @property
    def sent(self) -> int:
        """Bytes sent since the start: frames, and blobs by HTTP."""
        return self._connected.sent + self._blob_bytes

    @property
    def carried(self) -> int:
        """Bytes carried from peer to peer since the start."""
        return 0

    @property
    def trouble(self) -> str | None:
        """Why the task waits for its stores; None while all is well."""
        return self._background.trouble

    # Blobs.

    def has(self, address: str) -> bool:
        """Whether a blob belongs to this task."""
        known = address in self._addresses or address in self.history.addresses
        return known or self.snapshot(address) is not None

    def fetched(self, address: str, count: int) -> bool:
        """Counts so many fetched bytes of a blob; whether it belongs to this task."""
        mine = self.has(address)
        if mine:
            self._blob_bytes += count
        return mine

    def snapshot(self, address: str) -> Path | None:  # noqa: ARG002 - one scheme has some.
        """A file with weights that clients train from and no record names; None where there is none."""
        return None

    # For the owner.

    async def pause(self, cut: str | None = None) -> None:
        """No round opens from now on; an open one still ends as it would, or at once for the reason `cut`."""
        await self._mailbox.put(PauseRequested(cut))

    async def resume(self) -> None:
        """Rounds open again."""
        await self._mailbox.put(ResumeRequested())

    async def finish(self, reason: str, cut: bool = False) -> None:
        """Ends the task; a round that is open still ends as it would, or at once where it is to be `cut`."""
        await self._mailbox.put(FinishRequested(reason, cut))

    async def send_away(self, clients: Collection[str] | None, error: MingaError) -> None:
        """Ends the connections of those of `clients` who are here, None for everybody, and tells them why."""
        await self._mailbox.put(ClientsDismissed(clients, error))

    # The loop.

    def add(self, companion: Companion) -> None:
        """Has it told what happens, and lets it run as long as the host does. Before `run`."""
        self._observers.add(companion)
        self._companions.append(companion)

    async def run(self) -> None:
        """Hosts the task until cancelled."""
        for companion in self._companions:
            self._background.spawn(companion.run())
        self._start()
        try:
            await self._mailbox.run()
        finally:
            await self._stop()

    @abstractmethod
    def _start(self) -> None:
        """Begins the jobs that run as long as the host does."""

    async def _stop(self) -> None:
        """Ends all jobs."""
        await self._background.stop()
