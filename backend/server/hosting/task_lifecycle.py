"""Lifecycle of one task: carries out its owner's orders and bans, and records them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import structlog

from backend.errors import BannedError, ClosedError, NotReadyError, OrderError, RemovedError, StoreError
from backend.protocols.tasks.task_life import Life, LifeState, Order
from backend.server.hosting.task_host import TaskHost
from backend.server.observers import task_events
from backend.server.tasks.launch_statements import missing_statements
from backend.stores.task_lives import Ban, Lives

log = structlog.stdlib.get_logger("minga.lifecycle")

ARCHIVED = "This task is archived: its training is over, and its page offers its versions."
# Reasons sent to clients if the owner gives none.
REASONS = {
    Order.PAUSE: "The owner paused this training: unfinished work does not count.",
    Order.FINISH: "The owner finished this training.",
    Order.STOP: "The owner stopped this training.",
    Order.ARCHIVE: ARCHIVED,
}


class TaskLifecycle:
    """Owns the life and the bans of one task and sets its host's admission control. Runs beside the host.

    Every change is recorded before it is carried out, so that a killed server resumes with the recorded
    state. `clock` returns the time of day (Unix seconds).
    """

    def __init__(
        self,
        host: TaskHost,
        lives: Lives,
        life: Life,
        bans: list[Ban],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._host = host
        self._lives = lives
        self._clock = clock
        self._lock = asyncio.Lock()
        # Why no more rounds follow; None while the task runs.
        self._end_reason: str | None = None
        self._ended = asyncio.Event()
        self.bans = {ban.client: ban for ban in bans}
        self.life = life.opened(done=host.reason_to_finish is not None, now=clock())
        self._update_admission()

    async def run(self) -> None:
        """Restores the recorded state in the host, then records each end of the task."""
        if self.life.state is LifeState.PAUSED:
            await self._host.pause()
        elif self.life.by_owner:
            await self._host.finish(self.life.reason, cut=self.life.state is LifeState.STOPPED)
        while True:
            await self._ended.wait()
            self._ended.clear()
            async with self._lock:
                await self._record(self.life)

    def notice(self, task: str, event: task_events.TaskEvent) -> None:
        """See Observer."""
        if task == self._host.name and isinstance(event, task_events.TaskFinished):
            self._end_reason = event.reason
            self.life = self.life.rounds_ended(event.reason, self._clock())
            self._ended.set()

    async def order(self, order: Order, reason: str = "", cut: bool = False) -> Life:
        """Carries out an order of the owner; with `cut`, a pause ends an open round immediately.

        Raises OrderError if the order does not fit the task's state, NotReadyError if the task lacks what
        everybody reads before a launch, and StoreError if it cannot be recorded. Then nothing changes.
        """
        async with self._lock:
            if order is Order.LAUNCH and self.life.state is LifeState.TEST:
                self._check_statements()
            needs_reason = cut or order is not Order.PAUSE
            text = reason or (REASONS.get(order, "") if needs_reason else "")
            life = self.life.obey(order, text, self._clock())
            await self._lives.set_life(self._host.name, life)
            self.life = life
            log.info("the owner led a task", task=self._host.name, order=str(order), state=str(life.state))
            await self._perform(order, text, cut)
            if self._end_reason is not None:  # A stop rule ended the task during the recording.
                self.life = self.life.rounds_ended(self._end_reason, self._clock())
            return self.life

    @asynccontextmanager
    async def in_private_test(self) -> AsyncIterator[None]:
        """Keeps the task in its private test while the block runs. Raises OrderError once it is launched."""
        async with self._lock:
            if self.life.running is not LifeState.TEST:
                raise OrderError(
                    "This task is launched, and people took part after reading its description, so it stays. "
                    "Make a new version of the task to describe it differently."
                )
            yield

    async def extend(self) -> None:
        """Records that an ended task continues, for the host that is opened next.

        Raises OrderError if the task is archived, and StoreError. In both cases nothing changes.
        """
        async with self._lock:
            life = self.life.extended(self._clock())
            await self._lives.set_life(self._host.name, life)
            # An end of the open round is then no longer one that the owner ordered.
            self.life = life

    async def remove(self, client: str) -> None:
        """Disconnects a client, which may join again."""
        reason = "The owner of this task disconnected this device. You may join again."
        await self._host.send_away([client], RemovedError(reason))

    async def ban(self, client: str, reason: str = "") -> None:
        """Disconnects a client and bans it. Raises StoreError: then nothing changes."""
        ban = Ban(client, reason, self._clock())
        await self._lives.ban(self._host.name, ban)
        self.bans[client] = ban
        self._update_admission()
        error = BannedError("The owner of this task does not let this device take part any more.")
        await self._host.send_away([client], error)

    async def unban(self, client: str) -> None:
        """Lifts a client's ban. Raises StoreError: then nothing changes."""
        await self._lives.unban(self._host.name, client)
        self.bans.pop(client, None)
        self._update_admission()

    async def _perform(self, order: Order, reason: str, cut: bool) -> None:
        match order:
            case Order.PAUSE:
                await self._host.pause(reason if cut else None)
            case Order.RESUME:
                self._end_reason = None
                await self._host.resume()
            case Order.FINISH:
                await self._host.finish(reason)
            case Order.STOP:
                await self._host.finish(reason, cut=True)
            case Order.ARCHIVE | Order.RESTORE:
                self._update_admission()
                if self.life.state is LifeState.ARCHIVED:
                    await self._host.send_away(None, ClosedError(ARCHIVED))
            case Order.LAUNCH:
                pass  # Rounds continue as in the test.

    def _check_statements(self) -> None:
        if missing := missing_statements(self._host.task.file):
            remedies = " ".join(one.remedy for one in missing if one.remedy)
            raise NotReadyError(f"{remedies} Everybody reads it before taking part.")

    def _update_admission(self) -> None:
        admission = self._host.admission
        admission.closed = ARCHIVED if self.life.state is LifeState.ARCHIVED else None
        admission.banned = set(self.bans)

    async def _record(self, life: Life) -> None:
        try:
            await self._lives.set_life(self._host.name, life)
        except StoreError as error:
            # The next start determines it again.
            log.warning("the end of a task is not recorded", task=self._host.name, reason=str(error))


async def open_lifecycle(host: TaskHost, lives: Lives) -> TaskLifecycle:
    """Restores the lifecycle of a host's task from the records. The caller adds it to the host."""
    return TaskLifecycle(host, lives, await lives.life(host.name) or Life(), await lives.bans(host.name))
