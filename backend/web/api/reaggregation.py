"""Serves tries of another rule on the kept updates of a task's last rounds."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from backend.server.accounts.permissions import TaskAction
from backend.server.hosting.task_registry import TaskRegistry
from backend.server.rounds.reaggregation.reaggregations import Reaggregations
from backend.server.rounds.reaggregation.rule_choice import RuleChoice
from backend.web.auth.identity import require
from backend.web.requests.body import read_json


def routes() -> list[BaseRoute]:
    """Returns the routes."""
    path = "/api/tasks/{name}/reaggregation"
    return [
        Route(path, reaggregation, methods=["GET"]),
        Route(path, begin, methods=["POST"]),
        Route(path, cancel, methods=["DELETE"]),
    ]


async def reaggregation(request: Request) -> Response:
    """What is kept of the last rounds, and the last try of another rule on it."""
    return _report(await _tries(request, "inspect"))


async def begin(request: Request) -> Response:
    """Another rule is tried on the kept updates."""
    tries = await _tries(request, "manage")
    tries.begin(await read_json(request, RuleChoice))
    return _report(tries, 202)


async def cancel(request: Request) -> Response:
    """The try that runs is ended."""
    (await _tries(request, "manage")).cancel()
    return Response(status_code=204)


async def _tries(request: Request, action: TaskAction) -> Reaggregations:
    name = request.path_params["name"]
    await require(request, action, name)
    registry: TaskRegistry = request.app.state.tasks
    return registry.task(name).reaggregations()


def _report(tries: Reaggregations, status: int = 200) -> Response:
    return JSONResponse(tries.report(), status, headers={"Cache-Control": "no-store"})
