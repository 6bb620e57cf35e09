"""The JSON interface; docs/reference/http.md is its specification."""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute

from backend.services.catalogue import Catalogue
from backend.web.blobs import blob
from backend.web.sockets import task_socket


def routes() -> list[BaseRoute]:
    """Everything for programs."""
    return [
        Route("/api/tasks", tasks),
        Route("/api/tasks/{name}", task),
        Route("/api/tasks/{name}/model", model),
        Route("/api/tasks/{name}/data", data),
        Route("/api/tasks/{name}/versions", versions),
        Route("/api/tasks/{name}/contributions", contributions),
        WebSocketRoute("/api/tasks/{name}/socket", task_socket),
        Route("/blobs/{sha256}", blob),
        Route("/healthz", healthz),
    ]


async def tasks(request: Request) -> Response:
    """All tasks."""
    return _fresh({"tasks": _catalogue(request).summaries()})


async def task(request: Request) -> Response:
    """One task."""
    return _fresh(_catalogue(request).summary(request.path_params["name"]))


async def model(request: Request) -> Response:
    """What a task's model asks of a device."""
    name, dist = request.path_params["name"], request.app.state.settings.dist
    inspection = await asyncio.to_thread(_catalogue(request).inspection, name, dist)
    return _fresh(inspection.to_json())


async def data(request: Request) -> Response:
    """How a task's data are read, and what volunteers' own have to be like."""
    return _fresh(_catalogue(request).data(request.path_params["name"]))


async def versions(request: Request) -> Response:
    """The versions of a task."""
    return _fresh({"versions": await _catalogue(request).versions(request.path_params["name"])})


async def contributions(request: Request) -> Response:
    """Who gave what to a task."""
    return _fresh({"contributions": await _catalogue(request).contributions(request.path_params["name"])})


async def healthz(_request: Request) -> Response:
    """Whether the server answers."""
    return PlainTextResponse("ok")


def _catalogue(request: Request) -> Catalogue:
    catalogue: Catalogue = request.app.state.services
    return catalogue


def _fresh(content: dict[str, object]) -> Response:
    return JSONResponse(content, headers={"Cache-Control": "no-store"})
