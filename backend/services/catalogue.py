"""All tasks of a server, as the API and the pages show them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec
import structlog

from backend.errors import MingaError, NotFoundError, StoreError, TaskFileError
from backend.services.allowlist import read_allow_list
from backend.services.evaluation import can_evaluate
from backend.services.host import TaskHost
from backend.services.inspection import Inspection, inspect
from backend.services.limits import USUAL, TaskLimits
from backend.services.manifest import parse_manifest
from backend.services.observer import SILENCE, Observer
from backend.services.opening import Doorway, Opener
from backend.services.task import find_tasks
from backend.services.taskfile import TaskFile
from backend.services.timeline import rounds_told, version_told
from backend.services.traffic import program_bytes, traffic
from backend.stores.contracts import EvaluationRecord
from backend.stores.embedded import Stores

log = structlog.stdlib.get_logger("minga")


@dataclass(frozen=True)
class TaskDetail:
    """What a task's page shows beside its summary."""

    summary: dict[str, Any]
    readme_html: str
    licence: dict[str, str | None]
    input: str | None
    labels: list[str]
    file: TaskFile


class Catalogue:
    """Owns the hosts of all tasks, from `start` to `stop`."""

    def __init__(
        self,
        stores: Stores,
        ops_file: Path,
        observer: Observer = SILENCE,
        limits: TaskLimits = USUAL,
        hooks: bool = False,
    ) -> None:
        self._stores = stores
        self._observer = observer
        self._limits = limits
        self._may_hook = hooks
        self._ops_file = ops_file
        self._hosts: dict[str, TaskHost] = {}
        self._running: dict[str, asyncio.Task[None]] = {}
        self._doorway: Doorway | None = None
        self._retrying: asyncio.Task[None] | None = None

    async def start(self, folders: Sequence[Path], overrides: Sequence[str]) -> None:
        """Hosts the tasks in `folders`. One that is not sound is told in `problems` and tried again later.

        Raises TaskFileError when there are no tasks at all, or an override is for none of them.
        """
        allowed = read_allow_list(self._ops_file)
        evaluate = can_evaluate()
        if not evaluate:
            log.warning(
                "versions are not evaluated: TensorFlow is missing", remedy="pip install 'minga[peer]'"
            )
        opener = Opener(
            self._stores, allowed, evaluate, overrides, self._observer, self._limits, self._may_hook
        )
        self._doorway = Doorway(opener, find_tasks(folders), self._admit)
        await self._doorway.open_all()
        self._refuse_unknown(overrides)
        await self._sweep()
        for name, host in self._hosts.items():
            self._run(name, host)
        self._retrying = asyncio.create_task(self._doorway.retry())

    async def stop(self) -> None:
        """Ends all hosts."""
        running = [*self._running.values(), *([self._retrying] if self._retrying else [])]
        for task in running:
            task.cancel()
        for task in running:
            with suppress(asyncio.CancelledError):
                await task

    @property
    def problems(self) -> dict[str, str]:
        """Why a task is not served, by the name of its folder."""
        return self._doorway.problems if self._doorway else {}

    @property
    def hosts(self) -> list[TaskHost]:
        """All hosts."""
        return list(self._hosts.values())

    async def readiness(self) -> dict[str, Any]:
        """Whether everything works (docs/reference/http.md): stores, hosts, and every task of the folders."""
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
        """The newest `last` rounds after `after`, oldest first (docs/reference/http.md). NotFoundError."""
        return await rounds_told(self.host(name).ledger, after, last, before)

    def fetched(self, address: str, count: int) -> None:
        """Somebody fetches so many bytes of a blob: counted for the first task that it belongs to."""
        any(host.fetched(address, count) for host in self._hosts.values())

    def host(self, name: str) -> TaskHost:
        """The host of the task. Raises NotFoundError."""
        if name not in self._hosts:
            raise NotFoundError("There is no task of that name; the gallery lists all.")
        return self._hosts[name]

    def summaries(self) -> list[dict[str, Any]]:
        """Summaries of all tasks (docs/reference/http.md)."""
        return [self.summary(name) for name in self._hosts]

    def summary(self, name: str) -> dict[str, Any]:
        """Summary of one task (docs/reference/http.md). Raises NotFoundError."""
        host = self.host(name)
        task, file = host.task, host.task.file
        return {
            "name": file.name,
            "title": file.title,
            "summary": file.summary,
            "topics": file.topics,
            "scheme": file.coordination.scheme,
            "bundle": task.bundle.address,
            "weights": host.ledger.current.weights,
            "version": host.ledger.current.version,
            "round": host.round,
            "rounds": file.coordination.rounds,
            "phase": host.phase,
            "trouble": host.trouble,
            "participants": host.participants,
            "accuracy": _accuracy(host.ledger.evaluations),
            "parameters": task.bundle.manifest.parameters.total,
            "examples": task.shards.examples,
        }

    def detail(self, name: str) -> TaskDetail:
        """All a task's page shows at once. Raises NotFoundError."""
        task = self.host(name).task
        trial = task.file.trial
        return TaskDetail(
            summary=self.summary(name),
            readme_html=task.readme_html,
            licence={"model": task.file.licence.model, "data": task.file.licence.data},
            input=trial.input if trial else None,
            labels=list(trial.labels) if trial else [],
            file=task.file,
        )

    def data(self, name: str) -> dict[str, Any]:
        """What a task's data are like (docs/reference/http.md). Raises NotFoundError."""
        task = self.host(name).task
        return {
            "source": task.file.data.source,
            "preprocess": msgspec.to_builtins(task.shards.preprocess),
            "volunteer": msgspec.to_builtins(task.file.data.own),
        }

    def inspection(self, name: str, dist: Path) -> Inspection:
        """What the task's model asks of a device; `dist` holds the built web app. Raises NotFoundError."""
        task = self.host(name).task
        bundle, per_client = task.bundle, task.file.data.shards_per_client
        program = program_bytes(dist)
        return inspect(
            bundle.manifest,
            traffic(bundle.manifest, bundle.manifest_bytes, task.shards.train, per_client, program),
        )

    async def versions(self, name: str) -> list[dict[str, Any]]:
        """History of a task, oldest version first (docs/reference/http.md). Raises NotFoundError."""
        ledger = self.host(name).ledger
        return [version_told(one, ledger.evaluations.get(one.version)) for one in ledger.versions]

    async def contributions(self, name: str) -> list[dict[str, Any]]:
        """Who gave what, the most first (docs/reference/http.md). Raises NotFoundError or StoreError."""
        return [asdict(one) for one in await self.host(name).ledger.contributions()]

    def _admit(self, host: TaskHost) -> None:
        """Takes a host in; from the end of the start on, it runs at once. Raises TaskFileError."""
        if host.name in self._hosts:
            raise TaskFileError(f"There are two tasks called '{host.name}'; rename one.")
        self._hosts[host.name] = host
        if self._retrying is not None:
            self._run(host.name, host)

    def _run(self, name: str, host: TaskHost) -> None:
        self._running[name] = asyncio.create_task(host.run())

    async def _sweep(self) -> None:
        """Deletes what nothing names: what a killed server left behind, and versions that were let go."""
        if self.problems:
            return  # Parts of a task that is left out would be taken for waste.
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


def _accuracy(evaluations: dict[int, EvaluationRecord]) -> float | None:
    return evaluations[max(evaluations)].metrics.get("accuracy") if evaluations else None
