"""Handles an owner's requests for a task: dashboard, orders, participants (docs/reference/http.md)."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import Annotated, Any, Literal, get_args

from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from backend.errors import ForbiddenError, MingaError, NotFoundError
from backend.formats.task_file.robust import RuleName
from backend.protocols.tasks.task_life import Life, Order
from backend.server.accounts.permissions import may
from backend.server.continuation.extension import choices
from backend.server.dashboards.dashboard import Dashboard
from backend.server.hosting.task_registry import TaskRegistry
from backend.web.auth.identity import require, summaries_for
from backend.web.pages.pages import page_route, render
from backend.web.requests.body import read_json
from backend.web.transport.authorized_sockets import connections_of
from backend.web.transport.task_socket import foreign

Note = Annotated[str, Meta(max_length=300)]
# Shortest and longest interval between a dashboard's updates; counters such as bytes change without an event.
MIN_SECONDS, MAX_SECONDS = 0.5, 5.0


class Ordered(Struct, forbid_unknown_fields=True):
    """Body of an order; an open round is `cut` short where a pause would let it end."""

    order: Order
    reason: Note = ""
    cut: bool = False


class Treated(Struct, forbid_unknown_fields=True):
    """Body: the action on a participant."""

    act: Literal["remove", "ban", "unban", "lift"]
    reason: Note = ""


class AlertBody(Struct, forbid_unknown_fields=True):
    """Body: the action on an alert."""

    act: Literal["acknowledge"]


def routes() -> list[BaseRoute]:
    """Returns the routes that need a role on the task."""
    return [
        page_route("/tasks/{name}/manage", page),
        Route("/api/tasks/{name}", delete, methods=["DELETE"]),
        Route("/api/tasks/{name}/dashboard", dashboard),
        Route("/api/tasks/{name}/orders", order, methods=["POST"]),
        Route("/api/tasks/{name}/units", units),
        Route("/api/tasks/{name}/participants", participants),
        Route("/api/tasks/{name}/participants/{client}", treat, methods=["POST"]),
        Route("/api/tasks/{name}/alerts/{id:int}", acknowledge, methods=["POST"]),
        WebSocketRoute("/api/tasks/{name}/watch", watch),
    ]


async def page(request: Request) -> Response:
    """Renders the dashboard's page."""
    name = request.path_params["name"]
    identity = await require(request, "inspect", name)
    registry = _registry(request)
    place, hosted = registry.place(name), registry.task(name)
    host = hosted.host
    context = {
        "task": hosted.summary(),
        "plan": host.task.file,
        "choices": choices(host.task, host.history),
        # Their curves can be laid over the curve of this one.
        "comparable": [
            task
            for task in await summaries_for(request)
            if task["name"] != name and may(identity, "inspect", registry.place(task["name"]))
        ],
        # Those that may be tried on kept updates.
        "rules": get_args(RuleName),
        "may_lead": may(identity, "manage", place),
        "may_delete": may(identity, "delete", place)
        and request.app.state.deletions.can_delete(hosted.folder),
    }
    answer = render(request, "pages/manage.html", context)
    answer.headers["Cache-Control"] = "no-store"
    return answer


async def delete(request: Request) -> Response:
    """Deletes the task permanently, with its versions and records; its clients are notified."""
    name = request.path_params["name"]
    await require(request, "delete", name)
    state = request.app.state
    await state.deletions.delete(name, state.tasks, state.results)
    await connections_of(request).recheck()
    return Response(status_code=204)


async def dashboard(request: Request) -> Response:
    """The task's state and history."""
    board = await _board(request)
    return _json_response({**board.now(), **board.history()})


async def units(request: Request) -> Response:
    """Work units, the trust in clients, and the verdicts on results."""
    return _json_response(await (await _board(request)).units())


async def participants(request: Request) -> Response:
    """Connected, banned and most helpful participants."""
    return _json_response({"participants": (await _board(request)).participants()})


async def order(request: Request) -> Response:
    """The owner leads the task: pause, resume, finish, stop, archive and so on."""
    name = request.path_params["name"]
    await require(request, "manage", name)
    body = await read_json(request, Ordered)
    return _json_response(
        _life_json(await _registry(request).task(name).lifecycle.order(body.order, body.reason, body.cut))
    )


async def treat(request: Request) -> Response:
    """A participant is sent away, kept out, or let in again; or its updates count again."""
    name, client = request.path_params["name"], request.path_params["client"]
    await require(request, "manage", name)
    body = await read_json(request, Treated)
    lifecycle = _registry(request).task(name).lifecycle
    if len(client) != 16 or not set(client) <= set("0123456789abcdef"):
        raise NotFoundError("A participant is named by 16 hexadecimal digits; the dashboard lists them.")
    match body.act:
        case "remove":
            await lifecycle.remove(client)
        case "ban":
            await lifecycle.ban(client, body.reason)
        case "unban":
            await lifecycle.unban(client)
        case "lift":
            await _registry(request).task(name).board.lift_suspicion(client)
    return _json_response({"banned": sorted(lifecycle.bans)})


async def acknowledge(request: Request) -> Response:
    """The owner has seen an alert, and wants no more of it."""
    name, id = request.path_params["name"], request.path_params["id"]
    await require(request, "manage", name)
    await read_json(request, AlertBody)
    board = _registry(request).task(name).board
    await board.acknowledge(id)
    return _json_response({"alerts": board.now()["alerts"]})


async def watch(websocket: WebSocket) -> None:
    """`WS /api/tasks/{name}/watch`: frames of JSON, `history` when it changed and `now` when anything did."""
    try:
        if (objection := foreign(websocket)) is not None:
            raise ForbiddenError(objection)
        name = websocket.path_params["name"]
        await require(websocket, "inspect", name)
        registry: TaskRegistry = websocket.app.state.tasks
        revoked: list[MingaError] = []
        wake = asyncio.Event()

        def revoke(error: MingaError) -> None:
            revoked.append(error)
            wake.set()

        with connections_of(websocket).registered(websocket, "inspect", name, revoke):
            board = registry.task(name).board
            with board.watching(wake):
                await websocket.accept()
                is_open = await _push(websocket, board, wake, revoked)
            # Another host took the task over: its dashboard is sent next.
            while is_open and (following := registry.boards.get(name, board)) is not board:
                board = following
                with board.watching(wake):
                    is_open = await _push(websocket, board, wake, revoked)
    except MingaError as error:
        content = {"error": {"code": error.code, "message": str(error)}}
        await websocket.send_denial_response(JSONResponse(content, error.http_status))


async def _push(
    websocket: WebSocket, board: Dashboard, changed: asyncio.Event, revoked: list[MingaError]
) -> bool:
    """Sends changes until the client closes, or its permission is `revoked`, which the last frame reports.

    Returns True if the board's host ended before that. A client that reads slowly delays only its own frames.
    """
    closed = asyncio.create_task(_until_closed(websocket))
    sent: dict[str, str] = {}
    try:
        while not closed.done():
            changed.clear()
            if revoked:
                await websocket.send_json({"type": "ended", "reason": str(revoked[0])})
                await websocket.close(revoked[0].close_code)
                return False
            if board.is_over:
                return True
            for kind, content in (("history", board.history()), ("now", board.now())):
                text = json.dumps({"type": kind, **content}, allow_nan=False)
                if sent.get(kind) != text:
                    sent[kind] = text
                    await websocket.send_text(text)
            await asyncio.wait([closed], timeout=MIN_SECONDS)
            with suppress(TimeoutError):
                async with asyncio.timeout(MAX_SECONDS):
                    await _wait_for_either(closed, changed)
    except WebSocketDisconnect:
        return False
    finally:
        closed.cancel()
    return False


async def _wait_for_either(closed: asyncio.Task[None], changed: asyncio.Event) -> None:
    waiting = asyncio.create_task(changed.wait())
    try:
        await asyncio.wait([closed, waiting], return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()


async def _until_closed(websocket: WebSocket) -> None:
    """Returns at the end of the connection; ignores messages, since a dashboard sends none."""
    while (await websocket.receive())["type"] != "websocket.disconnect":
        pass


async def _board(request: Request) -> Dashboard:
    name = request.path_params["name"]
    await require(request, "inspect", name)
    return _registry(request).task(name).board


def _registry(request: Request) -> TaskRegistry:
    registry: TaskRegistry = request.app.state.tasks
    return registry


def _life_json(life: Life) -> dict[str, Any]:
    return {"state": life.state, "reason": life.reason, "since": life.since, "orders": list(life.orders)}


def _json_response(content: dict[str, Any]) -> Response:
    return JSONResponse(content, headers={"Cache-Control": "no-store"})
