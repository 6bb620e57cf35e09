"""The host of one task: its inbox, its loop and its timers.

Everything that happens to a task goes through one bounded inbox and is handled by one loop, so nothing here
needs a lock. `Reception` brings an event before the round machine, `Performer` does what the machine decides,
`Jobs` does what takes time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import structlog

from backend.errors import BusyError, SlowUploadError
from backend.protocols.round import Round
from backend.services.audience import wire_phase
from backend.services.hooks import RoundEndHook
from backend.services.hosted import Event, Hosted
from backend.services.jobs import Jobs
from backend.services.ledger import Ledger
from backend.services.limits import USUAL, TaskLimits
from backend.services.links import Client, Link, client_id
from backend.services.observer import SILENCE, Observer, Observers
from backend.services.performer import Performer
from backend.services.reception import Reception
from backend.services.task import Task
from backend.stores.contracts import Blobs
from backend.wire import messages as say

log = structlog.stdlib.get_logger("minga.host")

INBOX = 1024


class TaskHost:
    """Owns one task's machine, clients, uploads and the aggregate of the open round.

    Time is the event loop's; `clock` gives the time of day (Unix seconds) for the records. `observer` is
    told what happens; `limits` bound what clients may ask for.
    """

    def __init__(
        self,
        task: Task,
        ledger: Ledger,
        blobs: Blobs,
        evaluate: bool,
        clock: Callable[[], float] = time.time,
        observer: Observer = SILENCE,
        limits: TaskLimits = USUAL,
    ) -> None:
        self.task = task
        self.ledger = ledger
        self._parts = task.addresses()
        self._blob_bytes = 0
        self._inbox: asyncio.Queue[Event | None] = asyncio.Queue(INBOX)
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_at: float | None = None
        plan = task.plan()
        progress = ledger.progress(plan.stop)
        machine = Round(plan, ledger.round, ledger.current.version, progress, ledger.accepted)
        self._at = Hosted(task, ledger, machine, observer, limits)
        self._reception = Reception(self._at)
        self._jobs = Jobs(self._at, blobs, self._reception, self._inbox.put, clock, evaluate)
        self._performer = Performer(self._at, self._jobs, self._reception)
        self._hooks: list[RoundEndHook] = []

    # For the shell that owns the sockets.

    async def join(self, hello: say.Hello, link: Link) -> str:
        """Takes a client in; its id. An older connection of the same client gives way. Raises BusyError."""
        client = Client(client_id(hello.token), hello.kind, hello.backend, link)
        most = self._at.limits.max_clients
        if self.participants >= most and client.id not in self._at.audience.clients:
            raise BusyError(
                f"{most} participants are here, as many as this task may have. "
                "Try again in a minute, or choose another task."
            )
        await self._inbox.put(lambda now: self._reception.joined(client, now))
        return client.id

    async def hear(self, client: str, link: Link, message: say.ClientFrame) -> None:
        """A client said something after its hello. Waits while the inbox is full."""
        await self._inbox.put(lambda now: self._reception.heard(client, link, message, now))

    def take(self, client: str, link: Link, chunk: say.Chunk) -> bool:
        """Stores a chunk that no decision hangs on, which most are, without a turn of the loop.

        False for any other: it is to be heard.
        """
        return self._reception.chunk_taken(client, link, chunk, asyncio.get_running_loop().time())

    async def leave(self, client: str, link: Link) -> None:
        """A client's connection ended."""
        await self._inbox.put(lambda now: self._reception.left(client, link, now, lost=True))

    # For the owner.

    def add(self, hook: RoundEndHook) -> None:
        """Has `hook` told what happens, and lets it run as long as the host does. Before `run`."""
        self._at.observer = Observers([self._at.observer, hook])
        self._hooks.append(hook)

    async def finish(self, reason: str) -> None:
        """Ends the task; a round that is open still ends as it would."""
        await self._inbox.put(lambda _now: self._at.machine.stop_requested(reason))

    # For those who ask.

    @property
    def phase(self) -> say.Phase:
        """What happens now, in the wire's word."""
        return wire_phase(self._at.machine.phase)

    @property
    def round(self) -> int:
        """Number of the last round that was opened."""
        return self._at.machine.round

    @property
    def participants(self) -> int:
        """Number of connected clients."""
        return len(self._at.audience.clients)

    @property
    def name(self) -> str:
        """The task's name."""
        return self.task.file.name

    @property
    def clients(self) -> list[tuple[str, str]]:
        """Kind and backend of each connected client."""
        return [(client.kind, client.backend) for client in self._at.audience.clients.values()]

    @property
    def waiting(self) -> int:
        """Number of events that wait in the inbox."""
        return self._inbox.qsize()

    @property
    def received(self) -> int:
        """Bytes of updates received since the start."""
        return self._at.uploads.received

    @property
    def sent(self) -> int:
        """Bytes sent since the start: frames, and blobs by HTTP."""
        return self._at.audience.sent + self._blob_bytes

    def fetched(self, address: str, count: int) -> bool:
        """Somebody fetches so many bytes of a blob; whether it belongs to this task."""
        mine = address in self._parts or address in self.ledger.addresses
        if mine:
            self._blob_bytes += count
        return mine

    @property
    def trouble(self) -> str | None:
        """Why the task waits for its stores; None while all is well."""
        return self._at.trouble

    # The loop.

    async def run(self) -> None:
        """Hosts the task until cancelled."""
        self._jobs.start(*(hook.run() for hook in self._hooks))
        try:
            while True:
                await self._turn()
        finally:
            if self._alarm is not None:
                self._alarm.cancel()
            await self._jobs.stop()

    async def _turn(self) -> None:
        if self._inbox.empty():
            self._set_alarm()
        event = await self._inbox.get()
        try:
            now = asyncio.get_running_loop().time()
            if event is not None:
                self._performer.perform(event(now), now)
                self._at.audience.state_changed(now)
            self._on_time(now)
        except Exception:
            # A shell: one event that fails must not end the task for everybody.
            log.exception("an event failed", task=self.task.file.name, round=self.round)

    def _set_alarm(self) -> None:
        """Sees to it that a turn comes when something is due."""
        due = self._next_due()
        if due == self._alarm_at:
            return
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm_at = due
        self._alarm = None if due is None else asyncio.get_running_loop().call_at(due, self._ring)

    def _ring(self) -> None:
        self._alarm_at = self._alarm = None
        if self._inbox.empty():  # Else a turn comes anyway.
            self._inbox.put_nowait(None)

    def _next_due(self) -> float | None:
        times = (self._at.machine.timer(), self._at.uploads.timer(), self._at.audience.timer())
        return min((at for at in times if at is not None), default=None)

    def _on_time(self, now: float) -> None:
        timer = self._at.machine.timer()
        if timer is not None and now >= timer:
            self._performer.perform(self._at.machine.time_passed(now), now)
            self._at.audience.state_changed(now)
        for client, number in self._at.uploads.stalled(now):
            error = SlowUploadError(
                "Too little of the update came in too long a time. Try a better connection."
            )
            self._at.audience.tell_credits(self._at.uploads.drop(client, now))
            self._performer.perform(self._at.machine.update_failed(client, number, error, now), now)
        self._at.audience.tell_credits(self._at.uploads.fill(now))
        self._at.audience.tell_state(self._at.machine, self.ledger.accepted, now)
