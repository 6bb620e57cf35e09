"""Finds the earlier and newer versions of a task, as a running task's model never changes."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request

from backend.errors import NotReadyError
from backend.server.accounts.permissions import listed, may
from backend.server.hosting.task_registry import TaskRegistry
from backend.web.auth.identity import identify


async def lineage(request: Request, name: str) -> dict[str, Any]:
    """Returns `earlier`, the name of the task that this one follows, and `newer`, those that follow it.

    Tasks that the reader may not view are omitted; `earlier` is None then, and if there is none.
    """
    registry: TaskRegistry = request.app.state.tasks
    identity = await identify(request)
    hosts = {host.name: host.task.file.follows for host in registry.hosts}
    earlier = hosts[name]
    visible = earlier in hosts and may(identity, "view", registry.place(earlier))
    newer = [
        task
        for task, followed in hosts.items()
        if followed == name and listed(identity, registry.place(task))
    ]
    return {"earlier": earlier if visible else None, "newer": sorted(newer)}


async def check_follows(request: Request, earlier: object) -> None:
    """Checks that the sender may edit the task that a draft follows. Raises NotReadyError."""
    if earlier is None:
        return
    registry: TaskRegistry = request.app.state.tasks
    exists = any(host.name == earlier for host in registry.hosts)
    if not exists or not may(await identify(request), "edit", registry.place(str(earlier))):
        raise NotReadyError(
            f"The draft follows '{earlier}', which is not a task that you may change. Remove `follows` from "
            "its task file."
        )
