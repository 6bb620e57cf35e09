"""Handles what an owner asks for a task's continuation: other plans, forks (docs/reference/http.md)."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from backend.server.continuation.continuations import Continuations
from backend.server.continuation.extension import Extension
from backend.web.auth.identity import require
from backend.web.requests.body import read_json

_NO_STORE = {"Cache-Control": "no-store"}


def routes() -> list[BaseRoute]:
    """Returns the routes that continue a task."""
    return [Route("/api/tasks/{name}/extend", extend, methods=["POST"])]


async def extend(request: Request) -> Response:
    """The plan of a task changes: more rounds, another deadline, stop rule or learning rate."""
    name = request.path_params["name"]
    await require(request, "edit", name)
    body = await read_json(request, Extension)
    continuations: Continuations = request.app.state.continuations
    return JSONResponse(await continuations.extend(name, body), headers=_NO_STORE)
