"""The JSON interface; docs/reference/http.md is its specification."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute

from backend.errors import BadRequestError
from backend.services.catalogue import Catalogue
from backend.web.blobs import blob
from backend.web.metrics import metrics
from backend.web.sockets import task_socket

USUAL_ROUNDS, MOST_ROUNDS = 100, 1000


def routes() -> list[BaseRoute]:
    """Everything for programs."""
    return [
        Route("/api/tasks", tasks),
        Route("/api/tasks/{name}", task),
        Route("/api/tasks/{name}/model", model),
        Route("/api/tasks/{name}/data", data),
        Route("/api/tasks/{name}/versions", versions),
        Route("/api/tasks/{name}/contributions", contributions),
        Route("/api/tasks/{name}/rounds", rounds),
        WebSocketRoute("/api/tasks/{name}/socket", task_socket),
        Route("/blobs/{sha256}", blob),
        Route("/healthz", healthz),
        Route("/readyz", readyz),
        Route("/metrics", metrics),
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


async def rounds(request: Request) -> Response:
    """How the rounds of a task went."""
    after, last = _number(request, "after", 0), _number(request, "last", USUAL_ROUNDS)
    name = request.path_params["name"]
    return _fresh({"rounds": await _catalogue(request).rounds(name, after, min(last, MOST_ROUNDS))})


async def readyz(request: Request) -> Response:
    """Whether everything works, and what does not."""
    found = await _catalogue(request).readiness()
    return _fresh(found, 200 if found["ready"] else 503)


async def healthz(_request: Request) -> Response:
    """Whether the server answers."""
    return PlainTextResponse("ok")


def _catalogue(request: Request) -> Catalogue:
    catalogue: Catalogue = request.app.state.services
    return catalogue


def _number(request: Request, name: str, usual: int) -> int:
    text = request.query_params.get(name, str(usual))
    if not text.isdecimal() or len(text) > 9:
        raise BadRequestError(f"'{name}' is a whole number from 0; '{text[:20]}' is not.")
    return int(text)


def _fresh(content: dict[str, Any], status: int = 200) -> Response:
    return JSONResponse(content, status, headers={"Cache-Control": "no-store"})
