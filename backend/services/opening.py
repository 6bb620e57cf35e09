"""Tasks on their way into the server: opened at its start and, where that failed, again and again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from backend.errors import MingaError, TaskFileError
from backend.services.hooks import RoundEndHook
from backend.services.host import TaskHost
from backend.services.ledger import Ledger
from backend.services.limits import TaskLimits
from backend.services.observer import Observer, RoundEnded
from backend.services.task import load_task, overrides_of
from backend.services.taskfile import read_task_file
from backend.stores.embedded import Stores

log = structlog.stdlib.get_logger("minga")

# Trying again reads the whole bundle: soon at first, for who mends it while looking on, then seldom.
FIRST_PAUSE, LONGEST_PAUSE = 5.0, 60.0


@dataclass(frozen=True)
class Opener:
    """Makes hosts of task files.

    `overrides` are values that were changed on the command line, `hooks` says whether tasks may run commands.
    """

    stores: Stores
    allowed: frozenset[str]
    evaluate: bool
    overrides: Sequence[str]
    observer: Observer
    limits: TaskLimits
    hooks: bool

    async def open(self, path: Path) -> TaskHost:
        """A host of the task in the file at `path`. Raises MingaError when it is not sound."""
        blobs, records = self.stores.blobs, self.stores.records
        name = (await asyncio.to_thread(read_task_file, path)).name
        task = await load_task(path, overrides_of(name, self.overrides), self.allowed, blobs)
        run = await records.open_run(name, task.bundle.address)
        ledger = Ledger(task, records, blobs, run)
        await ledger.open(time.time())
        host = TaskHost(task, ledger, blobs, self.evaluate, observer=self.observer, limits=self.limits)
        if task.file.hooks.on_round_end:
            await self._add_hook(host, path.parent)
        return host

    async def _add_hook(self, host: TaskHost, folder: Path) -> None:
        """Has the task's command run after each round, the last one included: a crash may have lost it."""
        if not self.hooks:
            raise TaskFileError(
                f"{host.name}: [hooks] runs a program on this server. Read it, and start with --hooks if you "
                "trust it, or take the table out."
            )
        ledger = host.ledger
        evaluated = max(ledger.evaluations.values(), key=lambda one: one.version, default=None)
        hook = RoundEndHook(host.task.file.hooks, folder, host.finish, evaluated)
        for last in await ledger.rounds(0, 1):
            made = ledger.current if last.outcome == "version" else None
            hook.notice(host.name, RoundEnded(last, made))
        host.add(hook)


@dataclass
class Doorway:
    """The task files that are not served (yet), and why: `problems`, by the name of their folder."""

    opener: Opener
    paths: Sequence[Path]
    admit: Callable[[TaskHost], None]
    problems: dict[str, str] = field(default_factory=dict)

    async def open_all(self) -> None:
        """Tries each once. Those that are sound are admitted and not tried again."""
        self.paths = [path for path in self.paths if not await self._is_open(path)]

    async def retry(self) -> None:
        """Tries those that failed, with growing pauses, until all are open."""
        pause = FIRST_PAUSE
        while self.paths:
            await asyncio.sleep(pause)
            await self.open_all()
            pause = min(LONGEST_PAUSE, 2 * pause)

    async def _is_open(self, path: Path) -> bool:
        name = path.parent.name
        try:
            self.admit(await self.opener.open(path))
        except MingaError as error:
            self._refuse(name, str(error))
            return False
        except Exception as error:
            # A shell: one task that fails in a way nobody thought of must not end the others.
            log.exception("a task failed to open", task=name)
            self._refuse(name, f"The task failed to open ({type(error).__name__}); the log says more.")
            return False
        if self.problems.pop(name, None) is not None:
            log.info("task served", task=name)
        return True

    def _refuse(self, name: str, reason: str) -> None:
        if self.problems.get(name) != reason:
            log.error("task not served", task=name, reason=reason)
        self.problems[name] = reason
