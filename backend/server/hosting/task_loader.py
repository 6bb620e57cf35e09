"""Loads tasks: opens their hosts when the server starts, and retries those that failed."""

from __future__ import annotations

import asyncio
import hmac
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

import structlog

from backend.errors import MingaError, TaskFileError
from backend.formats.exact_program import ExactProgram
from backend.formats.task_file import TaskFile, read_task_file
from backend.server.alerting.alert_log import open_alert_log
from backend.server.alerting.messenger import AlertDestinations, Messenger
from backend.server.dashboards.dashboard import Dashboard
from backend.server.hosting.clients.work_challenges import WorkChallenges
from backend.server.hosting.hosted_task import HostedTask
from backend.server.hosting.scheme import HostServices
from backend.server.hosting.task_host import TaskHost
from backend.server.hosting.task_lifecycle import open_lifecycle
from backend.server.integrity.version_gate import VersionGate
from backend.server.integrity.version_measurements import VersionMeasurements
from backend.server.observers.hooks import RoundEndHook
from backend.server.observers.task_events import RoundEnded
from backend.server.schemes import scheme_of
from backend.server.tasks.gallery import NOT_BUILT
from backend.server.tasks.task import load_task, overrides_of
from backend.server.tasks.task_validation import check_program
from backend.server.versions.version_history import VersionHistory

log = structlog.stdlib.get_logger("minga")

BUILD_SCRIPT = "build.py"
# Seconds between retries, each of which reads the whole bundle: short at first for an operator who is mending
# the task, then long.
FIRST_PAUSE, LONGEST_PAUSE = 5.0, 60.0


@dataclass(frozen=True)
class HostFactory:
    """Creates hosts from task files.

    `overrides` are values set on the command line. `hooks` says whether tasks may run commands.
    `destinations` lists where alerts may be sent. `program` reads what this server's pages compute by.
    `measurements` measures the versions of tasks that check them.
    """

    services: HostServices
    allowed: frozenset[str]
    overrides: Sequence[str]
    hooks: bool
    destinations: AlertDestinations
    program: Callable[[], ExactProgram | None]
    measurements: VersionMeasurements

    async def open(self, path: Path, is_reopened: bool = False) -> HostedTask:
        """Opens the host of the task file at `path`, for the first time or in place of another one.

        Raises MingaError if the task is not valid.
        """
        stores = self.services.stores
        blobs, records = stores.blobs, stores.records
        name = (await asyncio.to_thread(read_task_file, path)).name
        changes = await stores.plans.plan_changes(name)
        task = await load_task(path, overrides_of(name, self.overrides), self.allowed, blobs, changes)
        check_program(task.file, task.bundle.manifest, await asyncio.to_thread(self.program))
        if task.file.security.kept_updates is None:
            await asyncio.to_thread(stores.kept_updates.forget, name)
        run = await records.open_run(name, task.bundle.identity)
        history = VersionHistory(task, records, blobs, run)
        await history.open(time.time())
        host = await scheme_of(task.file).open_host(task, history, self.services)
        if task.file.hooks.on_round_end:
            await self._add_hook(host, path.parent)
        if task.file.access.newcomers == "work":
            host.admission.work = _work_challenges(task.file, history, stores.secret)
        lifecycle = await open_lifecycle(host, stores.lives)
        host.add(lifecycle)
        alert_log = await open_alert_log(name, stores.alerts)
        messenger = Messenger(task.file, self.destinations)
        board = Dashboard(host, lifecycle, messenger, alert_log, is_reopened=is_reopened)
        host.add(board)
        gate = None
        if (plan := task.file.security.integrity) is not None:
            gate = VersionGate(host, lifecycle, plan, self.measurements)
            host.add(gate)
        return HostedTask(host, lifecycle, board, path.parent, changes, gate)

    async def _add_hook(self, host: TaskHost, folder: Path) -> None:
        """Adds the hook that runs the task's command after each round.

        It also runs for the last recorded round, whose run a crash may have lost.
        """
        if not self.hooks:
            raise TaskFileError(
                f"{host.name}: [hooks] runs a program on this server. Read it, and start with --hooks if you "
                "trust it, or take the table out."
            )
        history = host.history
        evaluated = max(history.evaluations.values(), key=lambda evaluation: evaluation.version, default=None)
        hook = RoundEndHook(host.task.file.hooks, folder, host.finish, evaluated)
        for last in await history.rounds(0, 1):
            version = history.current if last.outcome == "version" else None
            hook.notice(host.name, RoundEnded(last, version))
        host.add(hook)


def _work_challenges(file: TaskFile, history: VersionHistory, secret: bytes) -> WorkChallenges:
    """Returns the challenges to clients without an accepted update, whom the owner does not trust by name."""
    key = hmac.digest(secret, b"proof of work", sha256)
    units = file.coordination.units
    trusted = units.trust.trusted if units is not None else ()
    return WorkChallenges(
        key,
        file.name,
        file.access.work.bits,
        lambda client: bool(history.accepted.get(client)),
        time.time,
        trusted,
    )


def is_unbuilt(path: Path) -> bool:
    """Whether the task file at `path` is valid, and its build.py has yet to make its bundle."""
    if not (path.parent / BUILD_SCRIPT).is_file():
        return False
    try:
        return not (path.parent / read_task_file(path).model.bundle).is_dir()
    except MingaError:
        return False  # Opening it tells why.


@dataclass
class TaskLoader:
    """Opens task files. `problems` holds the error of each that failed, by the name of its folder.

    `unbuilt` are the folders of tasks whose build.py has not run yet, which is no error: they are among the
    problems, without a line in the log, and are served as soon as they are built.
    """

    factory: HostFactory
    paths: Sequence[Path]
    admit: Callable[[HostedTask], None]
    problems: dict[str, str] = field(default_factory=dict)
    unbuilt: dict[str, Path] = field(default_factory=dict)

    async def open_all(self) -> None:
        """Tries to open each task once. Valid tasks are admitted and not tried again."""
        self.paths = [path for path in self.paths if not await self._is_open(path)]

    def reserved_names(self) -> set[str]:
        """Returns the names of the tasks that failed to open although their model is converted."""
        return {name for name in map(_reserved_name, self.paths) if name is not None}

    async def retry(self) -> None:
        """Retries the tasks that failed, with growing pauses, until all are open."""
        pause = FIRST_PAUSE
        while self.paths:
            await asyncio.sleep(pause)
            await self.open_all()
            pause = min(LONGEST_PAUSE, 2 * pause)

    async def _is_open(self, path: Path) -> bool:
        name = path.parent.name
        if await asyncio.to_thread(is_unbuilt, path):
            self.problems[name], self.unbuilt[name] = NOT_BUILT, path.parent
            return False
        self.unbuilt.pop(name, None)
        try:
            self.admit(await self.factory.open(path))
        except MingaError as error:
            self._refuse(name, str(error))
            return False
        except Exception as error:
            # A shell: an unexpected error in one task must not end the others.
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


def _reserved_name(path: Path) -> str | None:
    """Returns the name of the task file at `path`; None if its bundle was never built."""
    try:
        file = read_task_file(path)
    except MingaError:
        return path.parent.name
    return file.name if (path.parent / file.model.bundle / "bundle.json").is_file() else None
