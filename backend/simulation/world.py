"""One task on virtual time: its server, which can be killed and started again, and its clients."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random

from backend.server.observers.observer import SILENCE, Observer
from backend.server.privacy.privacy_budget import PrivacyBudget
from backend.server.rounds.host import RoundsHost
from backend.server.tasks.task import Task
from backend.server.versions.version_history import VersionHistory
from backend.simulation.client_work import WorkModel
from backend.simulation.clients import Fate, SimulatedClient, Traits
from backend.simulation.network import Pipe, SimulatedLine
from backend.simulation.server_endpoint import SimulatedDoor, Tap, no_tap
from backend.stores.contracts import BlobStore, Records

# The time of day at which every simulation begins: 1 January 2026.
EPOCH = 1_767_225_600.0
MEGABIT = 125_000.0

MakeLedger = Callable[[Task, Records, BlobStore, int], VersionHistory]


class World:
    """Owns the server and the clients of one task. To be made and used on a virtual loop.

    `account` is that of its [privacy]. The server's noise is decided by `seed`.
    """

    def __init__(
        self,
        task: Task,
        records: Records,
        blobs: BlobStore,
        run: int,
        megabits: float,
        tap: Tap = no_tap,
        observer: Observer = SILENCE,
        account: PrivacyBudget | None = None,
        seed: int = 0,
    ) -> None:
        self.task = task
        self.clients: list[SimulatedClient] = []
        self.line = SimulatedLine(Pipe(megabits * MEGABIT), Pipe(megabits * MEGABIT), 0.0)
        self.door = SimulatedDoor(self.line, tap)
        self._records = records
        self._blobs = blobs
        self._run = run
        self._observer = observer
        self._account = account
        self._noise = Random(f"{seed}/server")
        self._loop = asyncio.get_running_loop()

    def clock(self) -> float:
        """The time of day, for the records."""
        return EPOCH + self._loop.time()

    async def open_server(self) -> RoundsHost:
        """Starts a server on what the stores hold."""
        history = VersionHistory(self.task, self._records, self._blobs, self._run)
        await history.open(self.clock())
        host = RoundsHost(
            self.task,
            history,
            self._blobs,
            evaluate=False,
            clock=self.clock,
            observer=self._observer,
            account=self._account,
            draw=self._noise.randbytes,
        )
        self.door.open(host)
        return host

    async def kill_server(self) -> None:
        """Ends the server in the middle of whatever it does."""
        await self.door.kill()

    def add_client(self, traits: Traits, work: WorkModel, fate: Fate, random: Random) -> SimulatedClient:
        """A client, which is still to be started."""
        client = SimulatedClient(traits, work, self.door, fate, random)
        self.clients.append(client)
        return client
