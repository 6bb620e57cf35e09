"""Measures the disk space of an owner's launched tasks."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

from backend.server.accounts.roles import Roles
from backend.server.hosting.task_host import TaskHost
from backend.server.hosting.task_registry import TaskRegistry


@dataclass(frozen=True)
class HostedTasks:
    """Measures the tasks in the folder `tasks`. Tasks in the operator's folders count for no owner."""

    registry: TaskRegistry
    roles: Roles
    tasks: Path

    async def bytes_of(self, owner: str) -> int:
        """Returns the bytes of the tasks that `owner` owns: their files, and the weights of kept versions."""
        owned = {task for task, role in (await self.roles.of(owner)).items() if role == "owner"}
        place = self.tasks.resolve()
        launched = [
            (host, folder)
            for host in self.registry.hosts
            if host.name in owned
            and (folder := self.registry.task(host.name).folder).parent.resolve() == place
        ]
        files = await asyncio.to_thread(_size, [folder for _, folder in launched])
        return files + sum(_weights(host) for host, _ in launched)


def _weights(host: TaskHost) -> int:
    versions = sum(version.let_go is None for version in host.history.versions)
    return 4 * host.task.bundle.manifest.parameters.total * versions


def _size(folders: list[Path]) -> int:
    return sum(path.lstat().st_size for folder in folders for path in folder.rglob("*") if path.is_file())
