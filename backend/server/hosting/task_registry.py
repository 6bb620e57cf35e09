"""Registry of all tasks of a server, for the API and the pages."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import structlog

from backend.errors import MingaError, NotFoundError, StoreError, TaskFileError
from backend.formats.exact_program import ExactProgram, read_exact_program
from backend.formats.manifest import parse_manifest
from backend.formats.op_allowlist import read_allow_list
from backend.formats.task_file import TaskFile
from backend.server.accounts.permissions import TaskAccess, unknown
from backend.server.alerting.messenger import NO_DESTINATIONS, AlertDestinations
from backend.server.dashboards.dashboard import Dashboard
from backend.server.hosting.hosted_task import HostedTask
from backend.server.hosting.limits import USUAL, TaskLimits
from backend.server.hosting.scheme import HostServices
from backend.server.hosting.task_host import TaskHost
from backend.server.hosting.task_loader import HostFactory, TaskLoader
from backend.server.integrity.version_measurements import VersionMeasurements
from backend.server.mesh.ice_servers import NO_ICE, IceServers
from backend.server.observers.observer import NO_OBSERVERS, Observer
from backend.server.tasks.task import TASK_FILE, find_launched, find_tasks, overrides_of
from backend.server.units.parameters.server_pool import IN_MEMORY, ParameterDeployment
from backend.server.versions.evaluation import can_evaluate
from backend.stores.embedded import Stores
from backend.stores.plan_changes import PlanAmendment

log = structlog.stdlib.get_logger("minga")


class TaskRegistry:
    """Owns the hosts of all tasks, from `start` to `stop`."""

    def __init__(
        self,
        stores: Stores,
        ops_file: Path,
        observer: Observer = NO_OBSERVERS,
        limits: TaskLimits = USUAL,
        hooks: bool = False,
        ice: IceServers = NO_ICE,
        destinations: AlertDestinations = NO_DESTINATIONS,
        parameters: ParameterDeployment = IN_MEMORY,
        dist: Path | None = None,
        measurements: VersionMeasurements | None = None,
    ) -> None:
        self._stores = stores
        self._observer = observer
        self._limits = limits
        self._hooks_allowed = hooks
        self._ice = ice
        self._destinations = destinations
        self._parameters = parameters
        self._ops_file = ops_file
        self._dist = dist
        self._measurements = measurements or VersionMeasurements(stores.blobs, stores.scratch / "integrity")
        self._tasks: dict[str, HostedTask] = {}
        self._running: dict[str, asyncio.Task[None]] = {}
        self._loader: TaskLoader | None = None
        self._retrying: asyncio.Task[None] | None = None

    async def start(
        self, folders: Sequence[Path], overrides: Sequence[str], launched: Path | None = None
    ) -> None:
        """Hosts the tasks in `folders`, and those that owners launched into the folder `launched`.

        A task that is not valid is listed in `problems` and retried later. Raises TaskFileError if `folders`
        contain no task, or if an override names none of them.
        """
        allowed = read_allow_list(self._ops_file)
        evaluate = can_evaluate()
        if not evaluate:
            log.warning(
                "versions are not evaluated: TensorFlow is missing", remedy="pip install 'minga[peer]'"
            )
        services = HostServices(
            self._stores, evaluate, self._observer, self._limits, self._ice, self._parameters
        )
        factory = HostFactory(
            services,
            allowed,
            overrides,
            self._hooks_allowed,
            self._destinations,
            self.program,
            self._measurements,
        )
        # Owners' tasks first: they may have the name of a task of the gallery that was not built then.
        paths = [*find_launched(launched), *find_tasks(folders)]
        self._loader = TaskLoader(factory, paths, self._admit)
        await self._loader.open_all()
        self._refuse_unknown(overrides)
        await self._sweep()
        for name, task in self._tasks.items():
            self._run(name, task.host)
        self._retrying = asyncio.create_task(self._loader.retry())

    async def open_task(self, path: Path) -> None:
        """Hosts a further task. Raises MingaError if it is not valid or its name is taken."""
        assert self._loader is not None  # noqa: S101 - `start` came first.
        self._admit(await self._loader.factory.open(path))

    async def close_task(self, name: str, error: MingaError) -> TaskHost:
        """Stops hosting a task, dismisses its clients with `error`; returns its host. NotFoundError."""
        host = self.host(name)
        host.admission.closed = str(error)
        await self._dismiss_all(host, error)
        del self._tasks[name]
        await self._end(self._running.pop(name))
        return host

    async def _dismiss_all(self, host: TaskHost, error: MingaError) -> None:
        await host.send_away(None, error)
        # The host's loop closes the connections before it ends.
        while host.participants and not self._running[host.name].done():  # noqa: ASYNC110 - no bell rings for it.
            await asyncio.sleep(0.01)

    async def _end(self, running: asyncio.Task[None]) -> None:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running

    def _retry(self, path: Path, reason: str) -> None:
        """Lists a task that cannot be opened as a problem, and tries it again later."""
        assert self._loader is not None  # noqa: S101 - `start` came first.
        self._loader.paths = [*self._loader.paths, path]
        self._loader.problems[path.parent.name] = reason
        if self._retrying is None or self._retrying.done():
            self._retrying = asyncio.create_task(self._loader.retry())

    def overrides_of(self, name: str) -> list[str]:
        """Returns the values of the task's file that the command line sets."""
        return overrides_of(name, self._loader.factory.overrides) if self._loader else []

    async def reopen_task(
        self, name: str, error: MingaError, prepare: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        """Replaces the quiet host of a task by one that is opened from its file and records.

        The old host does `prepare` first, then dismisses its clients with `error`, after which they may join
        again. Raises MingaError if the task cannot be opened: then the old host stays, or, once it did
        `prepare`, the task is tried again as at a start.
        """
        assert self._loader is not None  # noqa: S101 - `start` came first.
        host, path = self.host(name), self.task(name).folder / TASK_FILE
        if prepare is not None:
            await prepare()
        try:
            reopened = await self._loader.factory.open(path, is_reopened=True)
        except MingaError as failure:
            if prepare is not None:
                await self.close_task(name, error)
                self._retry(path, str(failure))
            raise
        self._tasks[name] = reopened
        await self._dismiss_all(host, error)
        await self._end(self._running[name])
        self._run(name, reopened.host)

    def amend(self, name: str, file: TaskFile, changes: Sequence[PlanAmendment]) -> None:
        """Shows another description of the task, which its host's work does not depend on."""
        task = self.task(name)
        task.host.task = replace(task.host.task, file=file)
        self._tasks[name] = replace(task, changes=changes)

    async def stop(self) -> None:
        """Stops all hosts."""
        running = [*self._running.values(), *([self._retrying] if self._retrying else [])]
        for task in running:
            task.cancel()
        for task in running:
            with suppress(asyncio.CancelledError):
                await task

    def program(self) -> ExactProgram | None:
        """Reads what this server's pages compute by; None without a built web app. Raises BundleError."""
        return None if self._dist is None else read_exact_program(self._dist)

    @property
    def problems(self) -> dict[str, str]:
        """Why tasks are not served, by the name of their folder."""
        return self._loader.problems if self._loader else {}

    def reserved_names(self) -> set[str]:
        """Returns the names of tasks that are served, or that were built and cannot be served now.

        A task of the gallery that was never built keeps no name: it has nothing that another could overwrite.
        """
        return set(self._tasks) | (self._loader.reserved_names() if self._loader else set())

    @property
    def unbuilt(self) -> list[Path]:
        """The folders of tasks that are not built yet; `problems` names them, too."""
        return list(self._loader.unbuilt.values()) if self._loader else []

    @property
    def hosts(self) -> list[TaskHost]:
        """All hosts."""
        return [task.host for task in self._tasks.values()]

    async def readiness(self) -> dict[str, Any]:
        """Returns the health of stores, hosts and tasks (docs/reference/http.md)."""
        try:
            await self._stores.check()
            stores = None
        except StoreError as error:
            stores = str(error)
        stopped = [name for name, running in self._running.items() if running.done()]
        waiting = {host.name: host.trouble for host in self.hosts if host.trouble is not None}
        return {
            "ready": stores is None and not stopped and not waiting,
            "stores": stores,
            "stopped": stopped,
            "waiting": waiting,
            "left_out": self.problems,
        }

    def fetched(self, address: str, count: int) -> None:
        """Counts `count` fetched bytes of a blob for the first task that it belongs to."""
        any(host.fetched(address, count) for host in self.hosts)

    def snapshot(self, address: str) -> Path | None:
        """Returns a file of weights that clients train from and no record names; None without one."""
        paths = (host.snapshot(address) for host in self.hosts)
        return next((path for path in paths if path is not None), None)

    def task(self, name: str) -> HostedTask:
        """Returns the task of that name. Raises NotFoundError."""
        if name not in self._tasks:
            raise unknown()
        return self._tasks[name]

    def host(self, name: str) -> TaskHost:
        """Returns the host of the task. Raises NotFoundError."""
        return self.task(name).host

    def place(self, name: str) -> TaskAccess:
        """Returns who may access the task. Raises NotFoundError."""
        return self.task(name).access

    def places_of(self, address: str) -> list[TaskAccess]:
        """Returns who may access each task that the blob belongs to."""
        return [task.access for task in self._tasks.values() if task.host.has(address)]

    @property
    def boards(self) -> dict[str, Dashboard]:
        """The dashboard of each task."""
        return {name: task.board for name, task in self._tasks.items()}

    def summaries(self) -> list[dict[str, Any]]:
        """Returns the summaries of all tasks (docs/reference/http.md)."""
        return [task.summary() for task in self._tasks.values()]

    def _admit(self, task: HostedTask) -> None:
        """Adds a task, and runs its host if `start` has ended. Raises TaskFileError."""
        name = task.host.name
        if name in self._tasks:
            raise TaskFileError(f"There are two tasks called '{name}'; rename one.")
        self._tasks[name] = task
        if self._retrying is not None:
            self._run(name, task.host)

    def _run(self, name: str, host: TaskHost) -> None:
        self._running[name] = asyncio.create_task(host.run())

    async def _sweep(self) -> None:
        """Deletes what no task has: kept updates, blobs that a killed server left, and released versions."""
        with suppress(StoreError):  # It is tried again at the next start.
            named = self.reserved_names() | set(self.problems)
            await asyncio.to_thread(self._stores.kept_updates.sweep, named)
        if self.problems:
            return  # The blobs of a task that failed to open would be deleted.
        try:
            keep = await self._stores.records.named()
            for bundle in await self._stores.records.bundles():
                with suppress(NotFoundError):
                    manifest = parse_manifest(await self._stores.blobs.read(bundle, verify=True))
                    keep.update(file.sha256 for file in manifest.files.values())
            freed = await self._stores.blobs.sweep(keep)
        except MingaError as error:
            log.warning("the data folder was not swept", reason=str(error))
            return
        if freed:
            log.info("the data folder was swept", bytes=freed)

    def _refuse_unknown(self, overrides: Sequence[str]) -> None:
        for override in overrides:
            name = override.partition(".")[0]
            if name not in self._tasks and name not in self.problems:
                raise TaskFileError(
                    f"--set {override}: there is no task '{name}'. Write TASK.TABLE.KEY=VALUE."
                )
