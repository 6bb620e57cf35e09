"""Serves the JSON API of tasks; docs/reference/http.md is its specification."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute

from backend.server.hosting.hosted_task import HostedTask
from backend.server.hosting.task_registry import TaskRegistry
from backend.server.units.board.scores import result_json
from backend.web.api.blobs import blob
from backend.web.api.deposits import deposit
from backend.web.api.lineage import lineage
from backend.web.api.metrics import metrics
from backend.web.api.work_challenges import challenge, solve
from backend.web.auth.identity import summaries_for
from backend.web.requests.query import number_asked
from backend.web.transport.task_socket import task_socket

DEFAULT_ROUNDS, MAX_ROUNDS = 100, 1000


def routes() -> list[BaseRoute]:
    """Returns the routes of the JSON API of tasks."""
    return [
        Route("/api/tasks", tasks),
        Route("/api/tasks/{name}", task),
        Route("/api/tasks/{name}/model", model),
        Route("/api/tasks/{name}/data", data),
        Route("/api/tasks/{name}/disclosure", disclosure),
        Route("/api/tasks/{name}/about", about),
        Route("/api/tasks/{name}/versions", versions),
        Route("/api/tasks/{name}/contributions", contributions),
        Route("/api/tasks/{name}/rounds", rounds),
        Route("/api/tasks/{name}/challenges/{client}", challenge),
        Route("/api/tasks/{name}/challenges/{client}", solve, methods=["POST"]),
        Route("/api/tasks/{name}/mesh", mesh),
        Route("/api/tasks/{name}/units/history", results),
        Route("/api/tasks/{name}/units/{unit:int}", unit),
        Route("/api/tasks/{name}/weights/{sha256}", deposit, methods=["PUT"]),
        WebSocketRoute("/api/tasks/{name}/socket", task_socket),
        Route("/blobs/{sha256}", blob),
        Route("/healthz", healthz),
        Route("/readyz", readyz),
        Route("/metrics", metrics),
    ]


async def tasks(request: Request) -> Response:
    """All tasks that the asker may find here."""
    return _json_response({"tasks": await summaries_for(request)})


async def task(request: Request) -> Response:
    """One task."""
    return _json_response(_task(request).summary())


async def model(request: Request) -> Response:
    """What a task's model needs on a device."""
    dist = request.app.state.settings.dist
    inspection = await asyncio.to_thread(_task(request).inspection, dist)
    return _json_response(inspection.to_json())


async def disclosure(request: Request) -> Response:
    """What the server, other participants and readers of the model can learn, in sentences."""
    return _json_response(asdict(_task(request).disclosure()))


async def about(request: Request) -> Response:
    """The owner's description of a task, its data and people, and the tasks before and after it."""
    name = request.path_params["name"]
    detail = _task(request).detail()
    statements = {
        key: msgspec.to_builtins(getattr(detail.file, key)) for key in ("licence", "consent", "ethics")
    }
    return _json_response({"html": detail.readme_html, **statements, **await lineage(request, name)})


async def data(request: Request) -> Response:
    """How a task's data are read, and what volunteers' own have to be like."""
    return _json_response(_task(request).data())


async def versions(request: Request) -> Response:
    """The versions of a task."""
    return _json_response({"versions": await _task(request).versions()})


async def contributions(request: Request) -> Response:
    """Contributions to a task by client, or those of one, and the bytes of its whole training."""
    task, client = _task(request), request.query_params.get("client")
    return _json_response({"contributions": await task.contributions(client), "traffic": task.traffic()})


async def rounds(request: Request) -> Response:
    """How the rounds of a task went."""
    after, last = number_asked(request, "after", 0), number_asked(request, "last", DEFAULT_ROUNDS)
    before = number_asked(request, "before", None)
    rows = await _task(request).rounds(after, min(last, MAX_ROUNDS), before)
    return _json_response({"rounds": rows})


async def mesh(request: Request) -> Response:
    """The peers of a decentralized task's mesh, their links and their groups."""
    return _json_response(_task(request).mesh())


async def results(request: Request) -> Response:
    """The results of work units that are in the model of a volunteer task."""
    after, last = number_asked(request, "after", 0), number_asked(request, "last", DEFAULT_ROUNDS)
    rows = await _task(request).assimilations(after, min(last, MAX_ROUNDS))
    return _json_response({"results": [result_json(row) for row in rows]})


async def unit(request: Request) -> Response:
    """A recent work unit, and the verdicts on its results."""
    return _json_response(await _task(request).unit_facts(request.path_params["unit"]))


async def readyz(request: Request) -> Response:
    """Whether everything works, and what does not."""
    readiness = await _registry(request).readiness()
    return _json_response(readiness, 200 if readiness["ready"] else 503)


async def healthz(_request: Request) -> Response:
    """Whether the server answers."""
    return PlainTextResponse("ok")


def _task(request: Request) -> HostedTask:
    return _registry(request).task(request.path_params["name"])


def _registry(request: Request) -> TaskRegistry:
    registry: TaskRegistry = request.app.state.tasks
    return registry


def _json_response(content: dict[str, Any], status: int = 200) -> Response:
    return JSONResponse(content, status, headers={"Cache-Control": "no-store"})
