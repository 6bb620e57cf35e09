"""Guards every URL of a task: senders that may not view the task get 404."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.requests import Request
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from backend.web.auth.identity import require

_TASK_PATHS = ("/tasks/{name}", "/api/tasks/{name}")


def guarded(routes: Sequence[BaseRoute]) -> list[BaseRoute]:
    """Adds the guard to the routes of tasks, and returns all routes. Sockets check permissions themselves."""
    for route in routes:
        if isinstance(route, Route) and route.path.startswith(_TASK_PATHS):
            route.app = _Guard(route.app)
    return list(routes)


class _Guard:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await require(Request(scope), "view", scope["path_params"]["name"])
        await self._app(scope, receive, send)
