"""One task as its owner leads it: its life, who may take part, and the record of both."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import structlog

from backend.errors import BannedError, ClosedError, RemovedError, StoreError
from backend.protocols.tasks.task_life import Life, LifeState, Order
from backend.server.hosting.task_host import TaskHost
from backend.server.observers import task_events
from backend.stores.task_lives import Ban, Lives

log = structlog.stdlib.get_logger("minga.lifecycle")

ARCHIVED = "This task is archived: its training is over, and its versions can be had from its page."
# What is told where the owner gives no reason.
REASONS = {
    Order.PAUSE: "The owner paused this training: what was being trained does not count.",
    Order.FINISH: "The owner finished this training.",
    Order.STOP: "The owner stopped this training.",
    Order.ARCHIVE: ARCHIVED,
}


class TaskLifecycle:
    """Owns the life and the bans of one task, and the gate of its host, beside which it runs.

    Every change is recorded before it is done, so that a server that is killed takes up what it promised.
    `clock` gives the time of day (Unix seconds).
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
        # Why no more rounds follow, once that was said.
        self._over: str | None = None
        self._ended = asyncio.Event()
        self.bans = {ban.client: ban for ban in bans}
        self.life = life.opened(done=host.reason_to_finish is not None, now=clock())
        self._guard()

    async def run(self) -> None:
        """Has the host begin where the task was left, then records its end whenever that comes."""
        if self.life.state is LifeState.PAUSED:
            await self._host.pause()
        elif self.life.by_owner:
            await self._host.finish(self.life.reason)
        while True:
            await self._ended.wait()
            self._ended.clear()
            async with self._lock:
                await self._record(self.life)

    def notice(self, task: str, event: task_events.TaskEvent) -> None:
        """See Observer."""
        if task == self._host.name and isinstance(event, task_events.TaskFinished):
            self._over = event.reason
            self.life = self.life.rounds_ended(event.reason, self._clock())
            self._ended.set()

    async def order(self, order: Order, reason: str = "", cut: bool = False) -> Life:
        """Does what the owner asks for; an open round is `cut` short where it would end in its own time.

        Raises OrderError where that does not fit, and StoreError where it could not be recorded: then
        nothing changes.
        """
        async with self._lock:
            said = cut or order is not Order.PAUSE
            words = reason or (REASONS.get(order, "") if said else "")
            life = self.life.obey(order, words, self._clock())
            await self._lives.set_life(self._host.name, life)
            self.life = life
            log.info("the owner led a task", task=self._host.name, order=str(order), state=str(life.state))
            await self._perform(order, words, cut)
            if self._over is not None:  # The rules were faster than the record.
                self.life = self.life.rounds_ended(self._over, self._clock())
            return self.life

    async def remove(self, client: str) -> None:
        """Sends a client away, which may come back."""
        reason = "The owner of this task sent this device away. You may come back."
        await self._host.send_away([client], RemovedError(reason))

    async def ban(self, client: str, reason: str = "") -> None:
        """Sends a client away, and lets it in no more. Raises StoreError: then nothing changes."""
        ban = Ban(client, reason, self._clock())
        await self._lives.ban(self._host.name, ban)
        self.bans[client] = ban
        self._guard()
        error = BannedError("The owner of this task does not let this device take part any more.")
        await self._host.send_away([client], error)

    async def unban(self, client: str) -> None:
        """Lets a client in again. Raises StoreError: then nothing changes."""
        await self._lives.unban(self._host.name, client)
        self.bans.pop(client, None)
        self._guard()

    async def _perform(self, order: Order, reason: str, cut: bool) -> None:
        match order:
            case Order.PAUSE:
                await self._host.pause(reason if cut else None)
            case Order.RESUME:
                self._over = None
                await self._host.resume()
            case Order.FINISH:
                await self._host.finish(reason)
            case Order.STOP:
                await self._host.finish(reason, cut=True)
            case Order.ARCHIVE | Order.RESTORE:
                self._guard()
                if self.life.state is LifeState.ARCHIVED:
                    await self._host.send_away(None, ClosedError(ARCHIVED))
            case Order.LAUNCH:
                pass  # Rounds go on as they did in the test.

    def _guard(self) -> None:
        admission = self._host.admission
        admission.closed = ARCHIVED if self.life.state is LifeState.ARCHIVED else None
        admission.banned = set(self.bans)

    async def _record(self, life: Life) -> None:
        try:
            await self._lives.set_life(self._host.name, life)
        except StoreError as error:
            # It is found out again at the next start.
            log.warning("the end of a task is not recorded", task=self._host.name, reason=str(error))


async def open_lifecycle(host: TaskHost, lives: Lives) -> TaskLifecycle:
    """The lifecycle of a host's task, as the records leave it; it is to be added to the host."""
    return TaskLifecycle(host, lives, await lives.life(host.name) or Life(), await lives.bans(host.name))
