"""Handles what an owner completes in the description of a task in a private test (docs/reference/http.md)."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from backend.protocols.tasks.task_life import LifeState
from backend.server.continuation.descriptions import Descriptions, TaskDescription
from backend.server.drafts.task_tables import MAX_BYTES
from backend.server.hosting.hosted_task import HostedTask
from backend.server.pictures.task_pictures import TaskPictures
from backend.server.tasks.ethics_statement import BASES, PEOPLE
from backend.server.tasks.licences import DATA, MODELS
from backend.server.tasks.markdown import rendered
from backend.web.auth.identity import require
from backend.web.pages.pages import page_route, render
from backend.web.requests.body import read_json

Markdown = Annotated[str, Meta(max_length=MAX_BYTES)]


class DescriptionBody(Struct, forbid_unknown_fields=True):
    """Body: a new description, a new text in Markdown, or both."""

    task: TaskDescription | None = None
    readme: Markdown | None = None


class TextBody(Struct, forbid_unknown_fields=True):
    """Body: a text in Markdown."""

    readme: Markdown


def routes() -> list[BaseRoute]:
    """Returns the page, and the routes that its form uses."""
    return [
        page_route("/tasks/{name}/describe", page),
        Route("/api/tasks/{name}/description", show),
        Route("/api/tasks/{name}/description", change, methods=["PATCH"]),
        Route("/api/tasks/{name}/description/preview", preview, methods=["POST"]),
    ]


async def page(request: Request) -> Response:
    """Renders the form."""
    name = request.path_params["name"]
    await require(request, "edit", name)
    task: HostedTask = request.app.state.tasks.task(name)
    pictures: TaskPictures = request.app.state.pictures
    context = {
        "task": task.summary(),
        "described": await _descriptions(request).of(name),
        "picture": pictures.of(name),
        "open": task.lifecycle.life.running is LifeState.TEST,
        "licences": {"model": MODELS, "data": DATA},
        "bases": BASES,
        "peoples": PEOPLE,
    }
    answer = render(request, "pages/describe.html", context)
    answer.headers["Cache-Control"] = "no-store"
    return answer


async def show(request: Request) -> Response:
    """The description of a task, and what its launch for everybody lacks."""
    name = request.path_params["name"]
    await require(request, "edit", name)
    return _json(await _descriptions(request).of(name))


async def change(request: Request) -> Response:
    """The description of a task in a private test changes."""
    name = request.path_params["name"]
    await require(request, "edit", name)
    body = await read_json(request, DescriptionBody, 2 * MAX_BYTES)
    await _descriptions(request).change(name, body.task, body.readme)
    return _json(await _descriptions(request).of(name))


async def preview(request: Request) -> Response:
    """A text as the task's page will show it."""
    await require(request, "edit", request.path_params["name"])
    body = await read_json(request, TextBody, 2 * MAX_BYTES)
    return _json({"html": await asyncio.to_thread(rendered, body.readme)})


def _descriptions(request: Request) -> Descriptions:
    descriptions: Descriptions = request.app.state.descriptions
    return descriptions


def _json(content: Any) -> Response:
    return JSONResponse(content, headers={"Cache-Control": "no-store"})
