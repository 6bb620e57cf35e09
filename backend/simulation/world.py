"""Runs one task on virtual time: its clients, and its server, which can be killed and restarted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random

from backend.protocols.rounds.lots import Lots
from backend.server.observers.observer import NO_OBSERVERS, Observer
from backend.server.privacy.privacy_budget import PrivacyBudget
from backend.server.rounds.host import RoundsHost
from backend.server.rounds.scheme import ROUNDS
from backend.server.tasks.task import Task
from backend.server.versions.version_history import VersionHistory
from backend.simulation.client_work import WorkModel
from backend.simulation.clients import DrawBehaviour, SimulatedClient, Traits
from backend.simulation.network import Pipe, SimulatedLine
from backend.simulation.server_endpoint import SimulatedEndpoint, Tap, ignore_frame
from backend.stores.contracts import BlobStore, Records

# The time of day at which every simulation begins: 1 January 2026.
EPOCH = 1_767_225_600.0
MEGABIT = 125_000.0

MakeLedger = Callable[[Task, Records, BlobStore, int], VersionHistory]


class World:
    """Owns the server and the clients of one task; must be created and used on a virtual loop.

    `account` is the task's privacy budget. `seed` determines the server's noise and lots.
    """

    def __init__(
        self,
        task: Task,
        records: Records,
        blobs: BlobStore,
        run: int,
        megabits: float,
        tap: Tap = ignore_frame,
        observer: Observer = NO_OBSERVERS,
        account: PrivacyBudget | None = None,
        seed: int = 0,
    ) -> None:
        self.task = task
        self.clients: list[SimulatedClient] = []
        self.line = SimulatedLine(Pipe(megabits * MEGABIT), Pipe(megabits * MEGABIT), 0.0)
        self.endpoint = SimulatedEndpoint(self.line, ROUNDS.socket, tap)
        self._records = records
        self._blobs = blobs
        self._run = run
        self._observer = observer
        self._account = account
        self._seed = seed
        self._noise = Random(f"{seed}/server")
        self._loop = asyncio.get_running_loop()

    def clock(self) -> float:
        """Returns the simulated time of day, for the records."""
        return EPOCH + self._loop.time()

    async def open_server(self) -> RoundsHost:
        """Starts a server with the state in the stores."""
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
            lots=Lots(f"simulation/{self._seed}".encode()),
        )
        self.endpoint.open(host)
        return host

    async def kill_server(self) -> None:
        """Kills the server without an orderly shutdown."""
        await self.endpoint.kill()

    def add_client(
        self, traits: Traits, work: WorkModel, draw_behaviour: DrawBehaviour, random: Random
    ) -> SimulatedClient:
        """Adds a client; the caller starts it."""
        client = SimulatedClient(traits, work, self.endpoint, draw_behaviour, random)
        self.clients.append(client)
        return client
