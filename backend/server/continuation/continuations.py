"""Continues tasks under another plan, from their newest version or an earlier one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import structlog

from backend.errors import (
    BadRequestError,
    BundleError,
    BusyError,
    MingaError,
    OrderError,
    SettingsError,
    TaskFileError,
)
from backend.formats.task_file import TaskFile, read_task_file
from backend.formats.task_file.reading.reader import read_task_tables
from backend.protocols.tasks.task_life import ENDED, LifeState
from backend.server.continuation.extension import (
    Extension,
    changes_of,
    fixed_rate,
    objection,
    rounds_done,
)
from backend.server.drafts.transfer.forked_weights import ForkedWeights
from backend.server.exports.task_exports import TaskExports
from backend.server.hosting.task_host import TaskHost
from backend.server.hosting.task_registry import TaskRegistry
from backend.server.privacy.privacy_budget import PrivacyBudget, open_account
from backend.server.schemes import scheme_of
from backend.server.tasks.task import TASK_FILE, Task, check_plan
from backend.server.versions.version_history import StoredVersion, VersionHistory
from backend.stores.plan_changes import PlanAmendment, PlanChanges

log = structlog.stdlib.get_logger("minga.lifecycle")

REOPENED = "The owner changed the plan of this training. It continues in a moment."
# How often a pending change looks whether the open round ended, and how long a request waits for that.
LOOK_SECONDS, WAIT_SECONDS = 0.1, 5.0


@dataclass(frozen=True)
class _Plan:
    """The task as it would be under a changed plan, and the account of its clients' privacy."""

    task: Task
    account: PrivacyBudget | None
    changes: list[PlanAmendment]
    # The rounds of the client that took part in most, at the end of the plan.
    taken: int


@dataclass
class Continuations:
    """Extends tasks. `pending` are the jobs that wait for a task's open round to end. `stop` ends them.

    A change is recorded before it takes effect: a server that is killed in between starts with it.
    """

    registry: TaskRegistry
    plans: PlanChanges
    clock: Callable[[], float] = time.time
    pending: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    _locks: dict[str, asyncio.Lock] = field(default_factory=dict)

    async def extend(self, name: str, asked: Extension) -> dict[str, Any]:
        """Changes the plan of a task, and continues it (docs/reference/http.md).

        Raises OrderError, TaskFileError, NotFoundError, GoneError or StoreError; then nothing changes.
        """
        if asked == Extension():
            raise BadRequestError("Say what changes: rounds, deadline, stop, learning_rate or version.")
        async with self._locks.setdefault(name, asyncio.Lock()):
            task = self.registry.task(name)
            lifecycle, host = task.lifecycle, task.host
            life = lifecycle.life.extended(self.clock())
            ended = lifecycle.life.state in ENDED
            earlier = await self._earlier(host, asked, ended)
            plan = await self._checked(host, asked, earlier is not None)
            await self.plans.change_plan(name, plan.changes)
            await lifecycle.extend()
            log.info("the plan of a task was changed", task=name, changes=[one.key for one in plan.changes])
            if name not in self.pending:
                job = self.pending[name] = asyncio.create_task(self._apply(name, earlier))
                job.add_done_callback(lambda done: self._ended(name, done))
            job = self.pending[name]
            await asyncio.wait([job], timeout=WAIT_SECONDS)
        if job.done():
            job.result()
        return {**self._described(name, plan), "state": life.state, "applied": job.done()}

    async def forked(
        self, name: str, version: int | Literal["best"], exports: TaskExports, seconds: float
    ) -> ForkedWeights | None:
        """Returns what a copy of a task needs to start from a version; None while its files are exported.

        Waits for that at most `seconds`. Raises OrderError, NotFoundError, GoneError or StoreError.
        """
        host, keras = self.registry.host(name), None
        number = _chosen(host.history, version)
        weights = await exports.weights(name, number)
        with suppress(BundleError, SettingsError):  # The model cannot be converted again, but launched.
            made = (await exports.file(name, number, "keras", seconds)).made
            if made is None:
                return None
            keras = made.path
        return ForkedWeights(weights, keras, _origin(host, number))

    async def stop(self) -> None:
        """Ends the jobs that wait."""
        jobs = list(self.pending.values())
        for job in jobs:
            job.cancel()
        await asyncio.gather(*jobs, return_exceptions=True)

    async def _earlier(self, host: TaskHost, asked: Extension, ended: bool) -> StoredVersion | None:
        """Returns the earlier version to continue from; None for the newest."""
        if asked.version is None:
            return None
        if not ended:
            raise OrderError("Only an ended task continues from an earlier version: finish or stop it first.")
        history = host.history
        number = _chosen(history, asked.version)
        stored = await history.read_version(number)
        return None if stored.record.weights == history.current.weights else stored

    async def _checked(self, host: TaskHost, asked: Extension, again: bool) -> _Plan:
        """Returns the changed plan. Raises OrderError where it would not let the task train."""
        name, history = host.name, host.history
        if asked.learning_rate is not None and (reason := fixed_rate(host.task)):
            raise OrderError(reason)
        path, done = self.registry.task(name).folder / TASK_FILE, rounds_done(history, again)
        tables = await asyncio.to_thread(read_task_tables, path)
        new = changes_of(asked, done, host.task.file.coordination.volunteer, tables, self.clock())
        kept = {one.key: one for one in await self.plans.plan_changes(name)} | {one.key: one for one in new}
        file = await asyncio.to_thread(self._file, path, name, list(kept.values()), new)
        task = replace(host.task, file=file)
        check_plan(task)
        if reason := objection(task, history, done):
            raise OrderError(reason)
        manifest = task.bundle.manifest
        rows = sum(one.rows for one in manifest.metrics)
        account = await open_account(file, history.versions, manifest.parameters.total, rows)
        taken = 0
        if account is not None:
            # As after a restart, one more round could have been open without a record.
            opened = history.round + history.lost + 1
            taken = account.taken(history.accepted, opened, history.current.version)
            _check_budget(account, taken)
        return _Plan(task, account, new, taken + file.coordination.rounds - done)

    def _file(
        self, path: Path, name: str, changes: list[PlanAmendment], new: list[PlanAmendment]
    ) -> TaskFile:
        """Returns the changed task file. Raises OrderError where the server's command line says otherwise."""
        overrides = self.registry.overrides_of(name)
        for change in new:
            if any(override.partition("=")[0].strip() == change.key for override in overrides):
                raise OrderError(
                    f"This server was started with --set {name}.{change.key}=..., which counts. Start it "
                    "without."
                )
        try:
            return read_task_file(path, overrides, changes)
        except TaskFileError as error:
            raise OrderError(str(error)) from error

    async def _apply(self, name: str, earlier: StoredVersion | None) -> None:
        """Gives the task a host with the recorded plan, when no round is open any more."""
        host = self.registry.host(name)
        await host.pause()
        while not host.quiet:
            await asyncio.sleep(LOOK_SECONDS)
            # The owner may have resumed it meanwhile.
            await host.pause()
        try:
            await self.registry.reopen_task(name, BusyError(REOPENED), self._recording(host, earlier))
        except MingaError as error:
            log.error(
                "a task continues with its earlier plan until the next start", task=name, reason=str(error)
            )
            if self.registry.task(name).lifecycle.life.state is not LifeState.PAUSED:
                await host.resume()
            raise

    def _ended(self, name: str, job: asyncio.Task[None]) -> None:
        """Forgets a job; its error is logged already, also where no request waits for it any more."""
        self.pending.pop(name, None)
        _ = job.cancelled() or job.exception()

    def _recording(
        self, host: TaskHost, earlier: StoredVersion | None
    ) -> Callable[[], Coroutine[Any, Any, None]] | None:
        if earlier is None:
            return None

        async def record() -> None:
            number = earlier.record.version
            reason = f"The owner continued from version {number}."
            await scheme_of(host.task.file).record_again(host, earlier, reason, self.clock())

        return record

    def _described(self, name: str, plan: _Plan) -> dict[str, Any]:
        """Returns the plan as it is now recorded."""
        file, account = plan.task.file, plan.account
        units = file.coordination.units
        history = self.registry.host(name).history
        return {
            "task": name,
            "rounds": file.coordination.rounds + history.repeats,
            "deadline": units.lease if units else file.coordination.deadline,
            "learning_rate": plan.task.learning_rate,
            "changes": [one.key for one in plan.changes],
            "version": history.current.version,
            "privacy": account and _privacy(account, plan.taken),
        }


def _privacy(account: PrivacyBudget, taken: int) -> dict[str, Any]:
    """Returns the epsilon of a client of `taken` rounds, or of as many as its budget lets it be in."""
    most = account.most
    return {"epsilon": account.epsilon(taken if most is None else min(taken, most)), "most": most}


def _check_budget(account: PrivacyBudget, taken: int) -> None:
    """Raises OrderError if a client of `taken` rounds has no further round within the budget."""
    if account.most is not None and taken >= account.most:
        raise OrderError(
            f"The privacy budget is spent: in another round epsilon could pass {account.privacy.epsilon:g} "
            f"for a client that was in {taken}. This promise to the clients cannot be changed."
        )


def _chosen(history: VersionHistory, version: int | Literal["best"]) -> int:
    """Returns the number of the chosen version. Raises OrderError if none is the best."""
    if version != "best":
        return version
    if history.best is None:
        raise OrderError("No version was measured on held-out examples, so none is the best. Choose one.")
    return history.best.version


def _origin(host: TaskHost, number: int) -> str:
    """Says in Markdown where a fork comes from, and what its clients may have given away there."""
    origin = f"It begins with version {number} of [{host.task.file.title}](/tasks/{host.name})."
    privacy = host.privacy
    if privacy is None:
        return origin
    spent = f"up to epsilon {privacy['epsilon']:.3g}" if privacy["epsilon"] is not None else "without a limit"
    return (
        f"{origin} Its privacy account begins at zero: those who took part in that task, too, gave away "
        f"something there ({spent}), to which this task adds."
    )
