"""A task goes for good: its files, its records, and the blobs that no other task has."""

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

    One rename into the folder `deleted` decides: what a killed server left there is finished at the next
    start.
    """

    tasks: Path
    deleted: Path
    stores: Stores
    roles: Roles

    async def finish(self) -> None:
        """Deletes what a killed server had begun to delete. Before tasks are opened."""
        if not self.deleted.is_dir():
            return
        for folder in sorted(self.deleted.iterdir()):
            if not (self.tasks / folder.name).exists():
                await self._forget(folder.name)
            await asyncio.to_thread(shutil.rmtree, folder, True)
            log.info("a task was deleted", task=folder.name)

    def may_go(self, folder: Path) -> bool:
        """Whether a task that lies in `folder` was launched by an owner, and can be deleted here."""
        return folder.parent.resolve() == self.tasks.resolve()

    async def delete(self, name: str, registry: TaskRegistry, results: TaskExports) -> None:
        """Deletes a task, and tells those who are in it. Raises NotFoundError, OrderError or StoreError."""
        folder = registry.folder(name)
        if not self.may_go(folder):
            raise OrderError(
                "This task lies in a folder of the server's operator, who can take it out of there; only "
                "what was launched from a draft can be deleted here."
            )
        place = self.deleted / folder.name
        with translated("The task's folder cannot be moved away"):
            await asyncio.to_thread(_move, folder, place)
        await results.forget(name)
        host = await registry.close_task(name, ClosedError(GONE))
        await self._forget(name)
        # What is still named after that belongs to another task.
        mine = host.task.addresses().union(*map(_blobs_of, host.history.versions))
        others = set().union(*(one.task.addresses() for one in registry.hosts))
        await self.stores.blobs.release(mine - others - await self.stores.records.named())
        await asyncio.to_thread(shutil.rmtree, place, True)
        log.info("a task was deleted", task=name)

    async def _forget(self, name: str) -> None:
        await self.stores.records.forget_task(name)
        await self.stores.lives.forget_life(name)
        await self.stores.alerts.forget_alerts(name)
        await self.roles.forget(name)


def _blobs_of(version: VersionRecord) -> set[str]:
    return {one for one in (version.weights, version.state, version.control) if one is not None}


def _move(folder: Path, place: Path) -> None:
    if place.exists():  # A killed server's, of an earlier task of that name.
        shutil.rmtree(place)
    place.parent.mkdir(parents=True, exist_ok=True)
    folder.rename(place)
