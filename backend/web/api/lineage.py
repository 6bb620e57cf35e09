"""Which task came before a task, and which came after: a running task's model is never changed."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request

from backend.errors import NotReadyError
from backend.server.accounts.permissions import listed, may
from backend.server.hosting.task_registry import TaskRegistry
from backend.web.auth.identity import identify


async def lineage(request: Request, name: str) -> dict[str, Any]:
    """`earlier`, the name of the task that this one follows, and `newer`, names of those that follow it.

    Those of which the reader may not know are left out; `earlier` is None then, and where there is none.
    """
    registry: TaskRegistry = request.app.state.tasks
    identity = await identify(request)
    hosts = {host.name: host.task.file.follows for host in registry.hosts}
    before = hosts[name]
    known = before in hosts and may(identity, "view", registry.place(before))
    newer = [one for one, of in hosts.items() if of == name and listed(identity, registry.place(one))]
    return {"earlier": before if known else None, "newer": sorted(newer)}


async def check_follows(request: Request, before: object) -> None:
    """Who calls a task a new version of another has to be one who may change that. Raises NotReadyError."""
    if before is None:
        return
    registry: TaskRegistry = request.app.state.tasks
    there = any(host.name == before for host in registry.hosts)
    if not there or not may(await identify(request), "edit", registry.place(str(before))):
        raise NotReadyError(
            f"The draft says that it follows '{before}', which is no task that you may change. "
            "Take `follows` out of its task file."
        )
