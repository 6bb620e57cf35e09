"""Deletes a task: its files, its records, and the blobs that no other task uses."""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import dataclass
from pathlib import Path

import structlog

from backend.errors import ClosedError, OrderError
from backend.server.accounts.roles import Roles
from backend.server.exports.task_exports import TaskExports
from backend.server.hosting.task_registry import TaskRegistry
from backend.stores.contracts import VersionRecord
from backend.stores.embedded import Stores
from backend.stores.error_translation import translated

log = structlog.stdlib.get_logger("minga")

GONE = "The owner of this task deleted it. Thank you for your part in it; other tasks are in the gallery."


@dataclass(frozen=True)
class Deletions:
    """Deletes tasks that owners launched into the folder `tasks`.

    The rename into the folder `deleted` commits a deletion: if the server is killed after it, the next start
    completes the deletion.
    """

    tasks: Path
    deleted: Path
    stores: Stores
    roles: Roles

    async def finish(self) -> None:
        """Completes the deletions that a killed server began. To be called before tasks are opened."""
        if not self.deleted.is_dir():
            return
        for folder in sorted(self.deleted.iterdir()):
            if not (self.tasks / folder.name).exists():
                await self._forget(folder.name)
            await asyncio.to_thread(shutil.rmtree, folder, True)
            log.info("a task was deleted", task=folder.name)

    def can_delete(self, folder: Path) -> bool:
        """Whether the task in `folder` was launched by an owner, so that it can be deleted."""
        return folder.parent.resolve() == self.tasks.resolve()

    async def delete(self, name: str, registry: TaskRegistry, results: TaskExports) -> None:
        """Deletes a task and dismisses its clients. Raises NotFoundError, OrderError or StoreError."""
        folder = registry.task(name).folder
        if not self.can_delete(folder):
            raise OrderError(
                "This task is in a folder of the server's operator, who can remove it there; only tasks "
                "launched from a draft can be deleted here."
            )
        destination = self.deleted / folder.name
        with translated("The task's folder cannot be moved away"):
            await asyncio.to_thread(_move, folder, destination)
        await results.forget(name)
        host = await registry.close_task(name, ClosedError(GONE))
        await self._forget(name)
        # Blobs that records still name belong to other tasks.
        blobs = host.task.addresses().union(*map(_blobs_of, host.history.versions))
        others = set().union(*(other.task.addresses() for other in registry.hosts))
        await self.stores.blobs.release(blobs - others - await self.stores.records.named())
        await asyncio.to_thread(shutil.rmtree, destination, True)
        log.info("a task was deleted", task=name)

    async def _forget(self, name: str) -> None:
        await self.stores.records.forget_task(name)
        await self.stores.lives.forget_life(name)
        await self.stores.alerts.forget_alerts(name)
        await self.stores.plans.forget_plan(name)
        await asyncio.to_thread(self.stores.kept_updates.forget, name)
        await self.roles.forget(name)


def _blobs_of(version: VersionRecord) -> set[str]:
    return {blob for blob in (version.weights, version.state, version.control) if blob is not None}


def _move(folder: Path, destination: Path) -> None:
    if destination.exists():  # Left by a killed server, from an earlier task of that name.
        shutil.rmtree(destination)
    destination.parent.mkdir(parents=True, exist_ok=True)
    folder.rename(destination)
