"""Serves the review before a launch: the rendered text, the draft in sentences, checks of the task file."""

from __future__ import annotations

import asyncio
from typing import Annotated

import msgspec
from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from backend.errors import BadRequestError
from backend.formats.task_file.reading.diagnostics import problems
from backend.server.drafts.review.review import sections
from backend.server.drafts.task_tables import MAX_BYTES, fixed
from backend.server.tasks.markdown import rendered
from backend.web.drafts.draft_requests import draft_of, draft_service, json_response
from backend.web.requests.body import read_body, read_json


class MarkdownBody(Struct, forbid_unknown_fields=True):
    """Markdown."""

    readme: Annotated[str, Meta(max_length=MAX_BYTES)]


def routes() -> list[BaseRoute]:
    """Returns the routes of the steps `about` and `review`."""
    return [
        Route("/api/drafts/{id}/preview", preview, methods=["POST"]),
        Route("/api/drafts/{id}/review", review),
        Route("/api/drafts/{id}/task.toml/check", check, methods=["POST"]),
    ]


async def preview(request: Request) -> Response:
    """A text as the task's page will show it."""
    await draft_of(request)
    body = await read_json(request, MarkdownBody, 2 * MAX_BYTES)
    return json_response({"html": await asyncio.to_thread(rendered, body.readme)})


async def review(request: Request) -> Response:
    """The whole draft in sentences, by steps."""
    draft = await draft_of(request)
    review_sections = sections(draft, await draft_service(request).inspection(draft))
    return json_response({"sections": msgspec.to_builtins(review_sections)})


async def check(request: Request) -> Response:
    """The errors of a task file's text, by line; nothing is saved."""
    await draft_of(request)
    content = await read_body(request, MAX_BYTES)
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise BadRequestError("task.toml is not UTF-8; save it as UTF-8.") from error
    problems_found = await asyncio.to_thread(problems, text, fixed)
    return json_response({"problems": msgspec.to_builtins(problems_found)})
