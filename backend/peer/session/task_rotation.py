"""Runs one peer on several tasks of a server, one after the other, by the shares of its time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from typing import Protocol

from backend.errors import BundleError, DataError, PeerError, ReplacedError, UnfitError, UnreachableError
from backend.peer.session.progress import Teller
from backend.peer.session.session_loop import SessionEnd
from backend.peer.session.work_clock import WorkClock
from backend.protocols.client.task_shares import TaskShares

# A peer that has no work at one task for this long works at another that needs it.
PATIENCE_SECONDS = 60.0
# How often the server is asked which tasks need clients, while this peer waits for one or could leave one.
ASK_SECONDS = 30.0
CHECK_SECONDS = 0.5


class RotatedSession(Protocol):
    """A session at one of the tasks."""

    @property
    def clock(self) -> WorkClock:
        """The seconds of work so far."""

    async def run(self, stop: asyncio.Event, leave: asyncio.Event | None = None) -> SessionEnd: ...


class TaskRotation:
    """Owns the choice of the task, and lets its session end between two units or rounds.

    `needy` returns the tasks that need this peer, and `begin` a session at one of them, None once `stop` is
    set. A turn lasts `turn` seconds of work, and longer while no other task needs the peer.
    """

    def __init__(
        self,
        needy: Callable[[], Awaitable[Collection[str]]],
        begin: Callable[[str], Awaitable[RotatedSession | None]],
        shares: TaskShares,
        reporter: Teller,
        turn: float,
    ) -> None:
        self._needy, self._begin = needy, begin
        self._shares = shares
        self._reporter = reporter
        self._turn = turn
        self._patience = min(PATIENCE_SECONDS, turn)
        self._ask_every = min(ASK_SECONDS, turn)
        # Tasks in which this machine cannot take part.
        self._excluded: set[str] = set()

    async def run(self, stop: asyncio.Event) -> None:
        """Works until `stop` is set. Raises ReplacedError, and UnreachableError if the server stays away."""
        is_waiting = False
        while not stop.is_set():
            task = self._shares.choose(await self._candidates(), time.monotonic())
            if task is None:
                if not is_waiting:
                    self._reporter.tell("nothing", "No task here needs this peer now; it waits for one.")
                is_waiting = True
                with suppress(TimeoutError):
                    await asyncio.wait_for(stop.wait(), self._ask_every)
                continue
            is_waiting = False
            await self._work(task, stop)

    async def _candidates(self) -> list[str]:
        """Returns the tasks that may be chosen; none while the server does not answer as usual."""
        try:
            return [task for task in await self._needy() if task not in self._excluded]
        except PeerError as error:
            self._reporter.tell("offline", f"{error} Trying again.")
            return []

    async def _work(self, task: str, stop: asyncio.Event) -> None:
        """Works at `task` until its turn is over; one in which this peer cannot take part is left out."""
        try:
            session = await self._begin(task)
            if session is None:
                return
            await self._run(task, session, stop)
        except (ReplacedError, UnreachableError):
            raise
        except (UnfitError, BundleError, DataError, PeerError) as error:
            self._excluded.add(task)
            sentence = f"This peer takes no part in {task}: {error}"
            self._reporter.tell("excluded", sentence, task=task, code=error.code)

    async def _run(self, task: str, session: RotatedSession, stop: asyncio.Event) -> None:
        leave = asyncio.Event()
        turn = _Turn(task, session.clock, self._shares)
        watching = asyncio.create_task(self._watch(turn, leave))
        try:
            await session.run(stop, leave)
        finally:
            watching.cancel()
            turn.count()
            worked = session.clock.seconds_worked
            sentence = f"Worked at {task} for {worked:.0f} s."
            self._reporter.tell("worked", sentence, task=task, seconds=round(worked, 3))
            if not turn.has_worked:
                self._shares.without_work(task, time.monotonic())

    async def _watch(self, turn: _Turn, leave: asyncio.Event) -> None:
        """Sets `leave` when the turn is over and another task needs this peer more."""
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            is_idle = turn.clock.seconds_waiting >= self._patience
            if turn.clock.seconds_worked < self._turn and not is_idle:
                continue
            tasks = await self._candidates()
            turn.count()
            others = [one for one in tasks if one != turn.task] if is_idle else tasks
            chosen = self._shares.choose(others, time.monotonic())
            if chosen is not None and chosen != turn.task:
                if is_idle:
                    self._shares.without_work(turn.task, time.monotonic())
                sentence = f"Leaving {turn.task} for {chosen} after what is in hand."
                self._reporter.tell("leaving", sentence, task=turn.task, next=chosen)
                leave.set()
                return
            await asyncio.sleep(self._ask_every)


class _Turn:
    """Counts the work of one session at `task` towards its share, each second once."""

    def __init__(self, task: str, clock: WorkClock, shares: TaskShares) -> None:
        self.task, self.clock = task, clock
        self._shares = shares
        self._counted = 0.0

    @property
    def has_worked(self) -> bool:
        """Whether the task had work for this peer."""
        return self._counted > 0.0

    def count(self) -> None:
        """Counts the work since the last call."""
        worked = self.clock.seconds_worked
        self._shares.worked(self.task, worked - self._counted)
        self._counted = worked
