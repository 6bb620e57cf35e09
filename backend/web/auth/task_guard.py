"""Every address of a task asks first whether its sender may know of the task."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.requests import Request
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from backend.web.auth.identity import require

_OF_TASKS = ("/tasks/{name}", "/api/tasks/{name}")


def guarded(routes: Sequence[BaseRoute]) -> list[BaseRoute]:
    """The routes; those of tasks answer others as if there were no such task. Sockets look themselves."""
    for route in routes:
        if isinstance(route, Route) and route.path.startswith(_OF_TASKS):
            route.app = _Guard(route.app)
    return list(routes)


class _Guard:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await require(Request(scope), "view", scope["path_params"]["name"])
        await self._app(scope, receive, send)
