"""Base class of task hosts: the interface that registry, pages, API and sockets use in every scheme."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from backend.errors import MingaError, NotFoundError
from backend.server.hosting.background_tasks import BackgroundTasks
from backend.server.hosting.clients.admission import AdmissionControl
from backend.server.hosting.clients.client_link import ClientLink, Presence
from backend.server.hosting.clients.connected_clients import ConnectedClients
from backend.server.hosting.host_events import (
    ClientsDismissed,
    ConnectionLost,
    FinishRequested,
    PauseRequested,
    ResumeRequested,
)
from backend.server.hosting.mailbox import Mailbox
from backend.server.observers.observer import Companion, Observers
from backend.server.observers.task_events import TaskEvent
from backend.server.tasks.task import Task
from backend.server.versions.version_history import VersionHistory
from backend.wire.messages import Phase


class TaskHost(ABC):
    """Runs one task. Owns its clients, its mailbox and its companions.

    One loop handles the events of one bounded mailbox, so no host needs a lock. The event type of `mailbox`
    includes the events of `host_events` that this class puts into it. `observers` receive each task event;
    `background` runs the jobs beside the loop.
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

    # State of its machine.

    @property
    @abstractmethod
    def phase(self) -> Phase:
        """The current phase, in the wire's word."""

    @property
    @abstractmethod
    def round(self) -> int:
        """Number of the newest round, or epoch of work units, that was opened."""

    @property
    @abstractmethod
    def needed(self) -> int:
        """Number of further clients that must be ready before a round opens."""

    @property
    @abstractmethod
    def reason_to_finish(self) -> str | None:
        """Why no more rounds follow; None while the task runs."""

    @property
    @abstractmethod
    def quiet(self) -> bool:
        """Whether no work is open, so that another host can take the task over and loses nothing."""

    @property
    def privacy(self) -> dict[str, Any] | None:
        """The report on its clients' privacy (docs/reference/http.md); None without [privacy]."""
        return None

    @property
    def tolerance(self) -> dict[str, Any] | None:
        """How many false updates its rounds bear (docs/reference/http.md); None where nothing bounds them."""
        return None

    @property
    def suspects(self) -> list[dict[str, Any]] | None:
        """Clients whose updates look false (docs/reference/http.md); None without reputation."""
        return None

    # Clients.

    @property
    def participants(self) -> int:
        """Number of connected clients."""
        return len(self._connected.clients)

    @property
    def clients(self) -> Sequence[tuple[str, str]]:
        """Kind and backend of each connected client."""
        return [(client.kind, client.backend) for client in self._connected.clients.values()]

    @property
    @abstractmethod
    def presences(self) -> Sequence[Presence]:
        """Each connected client, as the task's owner sees it."""

    @property
    def ways(self) -> Sequence[str]:
        """The kind of link between peers, once for each end of a link."""
        return []

    async def leave(self, client: str, link: ClientLink) -> None:
        """Handles the end of a client's connection."""
        await self._mailbox.put(ConnectionLost(client, link))

    # Figures.

    @property
    def waiting(self) -> int:
        """Number of events in the mailbox."""
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
    def whole_traffic(self) -> tuple[int, int] | None:
        """Bytes sent and received in the whole training; None where a restart forgets them."""
        return None

    def traffic(self, client: str) -> tuple[int, int]:
        """Returns the bytes of frames sent to a client, and of updates received from it, since the start."""
        return self._connected.traffic(client)

    @property
    def carried(self) -> int:
        """Bytes sent from peer to peer since the start."""
        return 0

    @property
    def trouble(self) -> str | None:
        """Why the task waits for its stores; None while they work."""
        return self._background.trouble

    # Blobs.

    def has(self, address: str) -> bool:
        """Whether a blob belongs to this task."""
        recorded = address in self._addresses or address in self.history.addresses
        return recorded or self.snapshot(address) is not None

    def fetched(self, address: str, count: int) -> bool:
        """Counts `count` fetched bytes of a blob; returns whether it belongs to this task."""
        belongs = self.has(address)
        if belongs:
            self._blob_bytes += count
        return belongs

    def snapshot(self, address: str) -> Path | None:  # noqa: ARG002 - one scheme has some.
        """Returns a file of weights that clients train from and no record names; None without one."""
        return None

    # For the owner.

    async def pause(self, cut: str | None = None) -> None:
        """Opens no further round; an open round ends normally, or immediately for the reason `cut`."""
        await self._mailbox.put(PauseRequested(cut))

    async def resume(self) -> None:
        """Lets rounds open again."""
        await self._mailbox.put(ResumeRequested())

    async def finish(self, reason: str, cut: bool = False) -> None:
        """Ends the task; an open round ends normally, or immediately if `cut`."""
        await self._mailbox.put(FinishRequested(reason, cut))

    async def send_away(self, clients: Collection[str] | None, error: MingaError) -> None:
        """Closes the connections of `clients`, None for all clients, with `error`."""
        await self._mailbox.put(ClientsDismissed(clients, error))

    async def lift_suspicion(self, client: str) -> None:
        """Lets the updates of a suspect client count again. Raises NotFoundError or StoreError."""
        raise NotFoundError(f"Nothing is held against participant {client} in this task.")

    # The loop.

    def notice(self, event: TaskEvent) -> None:
        """Notifies the host's observers of an event that happened beside it."""
        self._observers.notice(self.name, event)

    def add(self, companion: Companion) -> None:
        """Adds an observer that runs as long as the host. To be called before `run`."""
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
        """Starts the jobs that run as long as the host."""

    async def _stop(self) -> None:
        """Stops all jobs."""
        await self._background.stop()
