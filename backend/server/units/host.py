"""The host of one task of work units."""

from __future__ import annotations

import asyncio
import random
import secrets
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from backend.errors import MingaError
from backend.protocols.units.scheduler import Scheduler
from backend.protocols.units.scheduler_effects import Effect
from backend.server.hosting.admission import check_room
from backend.server.hosting.client_link import ClientLink, ConnectedClient, Presence
from backend.server.hosting.limits import USUAL, TaskLimits
from backend.server.hosting.task_host import TaskHost
from backend.server.observers.observer import SILENCE, Observer, Observers
from backend.server.tasks.task import Task
from backend.server.units.board.announcements import phase_of, presence_of
from backend.server.units.parameters.deployment import IN_MEMORY, ParameterDeployment
from backend.server.units.parameters.server_pool import ParameterServers
from backend.server.units.parts import Workings
from backend.server.units.setup import RestoredState, hosted_of
from backend.server.versions.version_history import VersionHistory
from backend.stores.contracts import AssimilationRecord, BlobStore
from backend.wire import messages, unit_messages
from backend.wire.client_id import client_id


class UnitsHost(TaskHost):
    """Owns one task's scheduler, its clients, the parameter servers, and what is known of results.

    Time is the event loop's; `clock` gives the time of day (Unix seconds). `scratch` is a folder for what
    need not survive, `left` what a server before this one left, `chance` draws from [0, 1).
    """

    def __init__(
        self,
        task: Task,
        history: VersionHistory,
        blobs: BlobStore,
        evaluate: bool,
        scratch: Path,
        left: RestoredState,
        clock: Callable[[], float] = time.time,
        observer: Observer = SILENCE,
        limits: TaskLimits = USUAL,
        chance: Callable[[], float] = random.random,
        parameters: ParameterDeployment = IN_MEMORY,
    ) -> None:
        observers = Observers([observer])
        self._state = state = hosted_of(
            task, history, left, scratch / secrets.token_hex(8), observers, limits, parameters
        )
        self._workings = Workings(state, blobs, evaluate, left, clock, chance)
        super().__init__(task, history, self._workings.mailbox, state.connected, state.background, observers)
        self._event_handler, self._course = self._workings.event_handler, self._workings.course

    # For the shell that owns the sockets.

    async def join(self, enlist: unit_messages.Enlist, link: ClientLink) -> str:
        """Takes a client in; its id. An older connection of the same client gives way.

        Raises BusyError, and what the gate raises.
        """
        name = client_id(enlist.token)
        self.admission.check(name)
        check_room(name, self._state.members, self._state.limits.max_clients, "participants")
        client = ConnectedClient(name, enlist.kind, enlist.backend, link)

        def turn(_now: float) -> Sequence[Effect]:
            effects = self._event_handler.entered(enlist, client)
            self._workings.announcer.greet(name)
            return effects

        await self._mailbox.put(turn)
        return name

    async def hear(self, client: str, link: ClientLink, message: unit_messages.UnitsToServer) -> None:
        """A client said something after it enlisted. Waits while the inbox is full."""
        await self._mailbox.put(lambda now: self._event_handler.heard(client, link, message, now))

    def take(self, client: str, link: ClientLink, chunk: messages.Chunk) -> bool:
        """Stores a chunk that no decision hangs on, without a turn of the loop; False for any other."""
        return self._event_handler.chunk_taken(client, link, chunk, asyncio.get_running_loop().time())

    async def leave(self, client: str, link: ClientLink) -> None:
        """A client's connection ended."""
        await self._mailbox.put(lambda _now: self._event_handler.left(client, link, lost=True))

    # For the owner.

    async def pause(self, cut: str | None = None) -> None:
        """See TaskHost: units that clients have are done to their end, or dropped at once."""
        await self._mailbox.put(lambda _now: self._course.pause(cut))

    async def resume(self) -> None:
        """See TaskHost."""
        await self._mailbox.put(lambda _now: self._course.resume())

    async def finish(self, reason: str, cut: bool = False) -> None:
        """See TaskHost."""
        await self._mailbox.put(lambda _now: self._course.finish(reason, cut))

    async def send_away(self, clients: Collection[str] | None, error: MingaError) -> None:
        """See TaskHost."""
        await self._mailbox.put(lambda _now: self._event_handler.sent_away(clients, error))

    # For those who ask.

    @property
    def phase(self) -> messages.Phase:
        """See TaskHost."""
        return phase_of(self._state)

    @property
    def needed(self) -> int:
        """See TaskHost: one client is enough."""
        return int(not any(one.slots for one in self._state.members.values()))

    @property
    def reason_to_finish(self) -> str | None:
        """See TaskHost."""
        return self._state.finished or self._course.reason()

    @property
    def round(self) -> int:
        """See TaskHost: the epoch."""
        return self._state.epoch.number

    @property
    def epochs(self) -> int:
        """Passes over all shards after which the task is finished."""
        return self._state.units.epochs

    @property
    def machine(self) -> Scheduler:
        """Who has which unit."""
        return self._state.machine

    @property
    def servers(self) -> ParameterServers:
        """Who blends results."""
        return self._state.servers

    @property
    def base(self) -> int:
        """Results that are in the model."""
        return self._state.base

    async def assimilations(self, after: int = 0, last: int | None = None) -> list[AssimilationRecord]:
        """The newest `last` results in the model (all for None) of those after number `after`.

        Raises StoreError.
        """
        recorded = await self.history.assimilations(after, last)
        newest = recorded[-1].number if recorded else after
        found = [*recorded, *(row for row in self._state.rows if row.number > newest)]
        return found if last is None else found[max(0, len(found) - last) :]

    @property
    def presences(self) -> list[Presence]:
        """See TaskHost."""
        has_some = self._workings.dealer.has_some
        return [presence_of(one, has_some(one.client.id)) for one in self._state.members.values()]

    @property
    def received(self) -> int:
        """See TaskHost."""
        return self._state.uploads.received

    def snapshot(self, address: str) -> Path | None:
        """A file with weights that leases begin at and no record names; None where there is none."""
        return self._state.snapshots.path(address)

    # The loop.

    async def run(self) -> None:
        """See TaskHost."""
        for companion in self._companions:
            self._background.spawn(companion.run())
        await self._workings.run()

    def _start(self) -> None:
        pass  # `run` has it done.
