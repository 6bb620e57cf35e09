"""Registry of all tasks of a server, for the API and the pages."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import structlog

from backend.errors import MingaError, NotFoundError, StoreError, TaskFileError
from backend.formats.exact_program import ExactProgram, read_exact_program
from backend.formats.manifest import parse_manifest
from backend.formats.op_allowlist import read_allow_list
from backend.formats.task_file import TaskFile
from backend.protocols.tasks.task_life import LifeState
from backend.server.accounts.permissions import TaskAccess, unknown
from backend.server.alerting.messenger import NO_DESTINATIONS, AlertDestinations
from backend.server.dashboards.dashboard import Dashboard
from backend.server.disclosure.statement import Disclosure
from backend.server.estimates import pace
from backend.server.estimates.traffic import program_bytes
from backend.server.hosting import task_summary
from backend.server.hosting.limits import USUAL, TaskLimits
from backend.server.hosting.scheme import HostServices, Scheme, WeightsDeposits
from backend.server.hosting.task_host import TaskHost
from backend.server.hosting.task_lifecycle import TaskLifecycle
from backend.server.hosting.task_loader import HostFactory, Hosting, TaskLoader
from backend.server.hosting.task_summary import TaskDetail
from backend.server.mesh.ice_servers import NO_ICE, IceServers
from backend.server.observers.observer import NO_OBSERVERS, Observer
from backend.server.schemes import scheme_of
from backend.server.tasks.model_inspection import Inspection
from backend.server.tasks.task import TASK_FILE, find_launched, find_tasks, overrides_of
from backend.server.units.parameters.server_pool import IN_MEMORY, ParameterDeployment
from backend.server.versions.evaluation import can_evaluate
from backend.server.versions.timeline import round_summaries, version_summaries
from backend.stores.contracts import AssimilationRecord, VersionRecord
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
        self._hosts: dict[str, TaskHost] = {}
        self._hostings: dict[str, Hosting] = {}
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
            services, allowed, overrides, self._hooks_allowed, self._destinations, self.program
        )
        # Owners' tasks first: they may have the name of a task of the gallery that was not built then.
        paths = [*find_launched(launched), *find_tasks(folders)]
        self._loader = TaskLoader(factory, paths, self._admit)
        await self._loader.open_all()
        self._refuse_unknown(overrides)
        await self._sweep()
        for name, host in self._hosts.items():
            self._run(name, host)
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
        del self._hosts[name], self._hostings[name]
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
        host, path = self.host(name), self.folder(name) / TASK_FILE
        if prepare is not None:
            await prepare()
        try:
            hosting = await self._loader.factory.open(path, is_reopened=True)
        except MingaError as failure:
            if prepare is not None:
                await self.close_task(name, error)
                self._retry(path, str(failure))
            raise
        self._hosts[name], self._hostings[name] = hosting.host, hosting
        await self._dismiss_all(host, error)
        await self._end(self._running[name])
        self._run(name, hosting.host)

    def amend(self, name: str, file: TaskFile, changes: Sequence[PlanAmendment]) -> None:
        """Shows another description of the task, which its host's work does not depend on."""
        host = self.host(name)
        host.task = replace(host.task, file=file)
        self._hostings[name] = replace(self._hostings[name], changes=changes)

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
        return set(self._hosts) | (self._loader.reserved_names() if self._loader else set())

    @property
    def unbuilt(self) -> list[Path]:
        """The folders of tasks that are not built yet; `problems` names them, too."""
        return list(self._loader.unbuilt.values()) if self._loader else []

    @property
    def hosts(self) -> list[TaskHost]:
        """All hosts."""
        return list(self._hosts.values())

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

    async def rounds(
        self, name: str, after: int, last: int, before: int | None = None
    ) -> list[dict[str, Any]]:
        """Returns the newest `last` rounds after `after`, oldest first (docs/reference/http.md).

        Raises NotFoundError.
        """
        return await round_summaries(self.host(name).history, after, last, before)

    def fetched(self, address: str, count: int) -> None:
        """Counts `count` fetched bytes of a blob for the first task that it belongs to."""
        any(host.fetched(address, count) for host in self._hosts.values())

    def snapshot(self, address: str) -> Path | None:
        """Returns a file of weights that clients train from and no record names; None without one."""
        paths = (host.snapshot(address) for host in self._hosts.values())
        return next((path for path in paths if path is not None), None)

    def host(self, name: str) -> TaskHost:
        """Returns the host of the task. Raises NotFoundError."""
        if name not in self._hosts:
            raise unknown()
        return self._hosts[name]

    def place(self, name: str) -> TaskAccess:
        """Returns who may access the task. Raises NotFoundError."""
        return _access(self._hostings[self.host(name).name])

    def places_of(self, address: str) -> list[TaskAccess]:
        """Returns who may access each task that the blob belongs to."""
        return [_access(hosting) for hosting in self._hostings.values() if hosting.host.has(address)]

    def lifecycle(self, name: str) -> TaskLifecycle:
        """Returns the lifecycle of the task. Raises NotFoundError."""
        self.host(name)
        return self._hostings[name].lifecycle

    def board(self, name: str) -> Dashboard:
        """Returns the dashboard of the task's owner. Raises NotFoundError."""
        self.host(name)
        return self._hostings[name].board

    @property
    def boards(self) -> dict[str, Dashboard]:
        """The dashboard of each task."""
        return {name: hosting.board for name, hosting in self._hostings.items()}

    def folder(self, name: str) -> Path:
        """Returns the folder of the task's file. Raises NotFoundError."""
        return self._hostings[self.host(name).name].folder

    def changes(self, name: str) -> Sequence[PlanAmendment]:
        """Returns what was changed in the plan of the task since its launch. Raises NotFoundError."""
        return self._hostings[self.host(name).name].changes

    def summaries(self) -> list[dict[str, Any]]:
        """Returns the summaries of all tasks (docs/reference/http.md)."""
        return [self.summary(name) for name in self._hosts]

    def summary(self, name: str) -> dict[str, Any]:
        """Returns the summary of one task (docs/reference/http.md). Raises NotFoundError."""
        return task_summary.summary(self.host(name), self.lifecycle(name).life)

    def detail(self, name: str) -> TaskDetail:
        """Returns the content of a task's page. Raises NotFoundError."""
        return task_summary.detail(self.host(name).task, self.summary(name))

    def data(self, name: str) -> dict[str, Any]:
        """Returns the description of a task's data (docs/reference/http.md). Raises NotFoundError."""
        return task_summary.data(self.host(name).task)

    def disclosure(self, name: str) -> Disclosure:
        """Returns the disclosure: who can learn what about clients' data. Raises NotFoundError."""
        host = self.host(name)
        return self._scheme(name).disclose(host.task.file, task_summary.guarantee_of(host))

    def mesh(self, name: str) -> dict[str, Any]:
        """Returns peers, links and groups of a decentralized task (docs/reference/http.md).

        Raises NotFoundError.
        """
        host, picture = self.host(name), self._scheme(name).picture
        if picture is None:
            raise NotFoundError("This task has no mesh: its server averages updates itself.")
        return picture(host)

    async def assimilations(
        self, name: str, after: int = 0, last: int | None = None
    ) -> list[AssimilationRecord]:
        """Returns the newest `last` assimilated work-unit results (all for None) after number `after`.

        Raises NotFoundError if the task has no work units, and StoreError.
        """
        host, assimilations = self.host(name), self._scheme(name).assimilations
        if assimilations is None:
            raise NotFoundError("This task has no work units: its clients train in rounds.")
        return await assimilations(host, after, last)

    async def unit_facts(self, name: str, unit: int) -> dict[str, Any]:
        """Returns the facts of a recent work unit. Raises NotFoundError if there is none with that number."""
        host, unit_facts = self.host(name), self._scheme(name).unit_facts
        if unit_facts is None:
            raise NotFoundError("This task has no work units: its clients train in rounds.")
        return await unit_facts(host, unit)

    def deposits(self, name: str) -> WeightsDeposits:
        """Returns the target of uploads of whole weights. Raises NotFoundError if the task takes none."""
        host, deposits = self.host(name), self._scheme(name).deposits
        if deposits is None:
            raise NotFoundError(
                "Peers upload weights to decentralized tasks only; in this task the server computes them."
            )
        return deposits(host)

    async def restore(self, name: str, number: int, reason: str) -> VersionRecord:
        """Restores an earlier version of the task as the newest, for `reason`; returns its record.

        Raises OrderError while the task cannot restore one, NotFoundError, GoneError or StoreError.
        """
        return await self._scheme(name).restore(self.host(name), number, reason)

    def inspection(self, name: str, dist: Path) -> Inspection:
        """Returns the model's demands on a device; `dist` is the built web app. Raises NotFoundError."""
        return task_summary.inspection(self.host(name).task, program_bytes(dist))

    async def versions(self, name: str) -> list[dict[str, Any]]:
        """Returns the versions of a task, oldest first (docs/reference/http.md). Raises NotFoundError."""
        history = self.host(name).history
        return version_summaries(history.versions, history.evaluations)

    async def contributions(self, name: str, client: str | None = None) -> list[dict[str, Any]]:
        """Returns the contribution of each client, or of one, the largest first (docs/reference/http.md).

        Raises NotFoundError or StoreError.
        """
        return [asdict(one) for one in await self.host(name).history.contributions(client)]

    async def seconds_to_finish(self, name: str) -> float | None:
        """Returns how long the task still takes at its pace; None where there is none.

        Raises NotFoundError or StoreError.
        """
        host = self.host(name)
        if host.phase in ("paused", "finished"):
            return None
        summary = self.summary(name)
        rounds = await host.history.rounds(0, pace.ROUNDS)
        return pace.seconds_to_finish(rounds, summary["rounds"] - summary["version"], time.time())

    def _scheme(self, name: str) -> Scheme[Any]:
        return scheme_of(self.host(name).task.file)

    def _admit(self, hosting: Hosting) -> None:
        """Adds a host, and runs it if `start` has ended. Raises TaskFileError."""
        host = hosting.host
        if host.name in self._hosts:
            raise TaskFileError(f"There are two tasks called '{host.name}'; rename one.")
        self._hosts[host.name], self._hostings[host.name] = host, hosting
        if self._retrying is not None:
            self._run(host.name, host)

    def _run(self, name: str, host: TaskHost) -> None:
        self._running[name] = asyncio.create_task(host.run())

    async def _sweep(self) -> None:
        """Deletes blobs that no record names: leftovers of a killed server, and released versions."""
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
            if name not in self._hosts and name not in self.problems:
                raise TaskFileError(
                    f"--set {override}: there is no task '{name}'. Write TASK.TABLE.KEY=VALUE."
                )


def _access(hosting: Hosting) -> TaskAccess:
    """Returns the access to a task; before its launch it is for invited clients, whatever its file says."""
    host, tested = hosting.host, hosting.lifecycle.life.state is LifeState.TEST
    return TaskAccess(host.name, "invited" if tested else host.task.file.access.visibility)
