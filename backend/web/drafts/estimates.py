"""Estimates a draft's costs, and what its training would reveal of volunteers (docs/reference/drafts.md)."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from backend.server.drafts.review.protection import MOST_EXPECTED
from backend.server.drafts.task_tables import MAX_BYTES
from backend.server.estimates.traffic import program_bytes
from backend.web.drafts.draft_requests import draft_of, draft_service, json_response
from backend.web.requests.body import read_json

People = Annotated[int, Meta(ge=1, le=MOST_EXPECTED)]


class AskCosts(Struct, forbid_unknown_fields=True):
    """With the tables of `task` instead of the draft's, which do not change.

    `volunteers` are always connected, and bring `examples` each if they bring their own.
    """

    task: dict[str, Any] | None = None
    volunteers: People | None = None
    examples: Annotated[int, Meta(ge=1, le=1 << 21)] | None = None


class AskProtection(Struct, forbid_unknown_fields=True):
    """As `AskCosts`; `epsilon` asks for the noise that it takes, and `clients` are expected in a round."""

    task: dict[str, Any] | None = None
    clients: People | None = None
    epsilon: Annotated[float, Meta(ge=0.01, le=1000)] | None = None


def routes() -> list[BaseRoute]:
    """Returns the routes of estimates, which change nothing."""
    return [
        Route("/api/drafts/{id}/estimate", costs, methods=["POST"]),
        Route("/api/drafts/{id}/privacy", protection, methods=["POST"]),
    ]


async def costs(request: Request) -> Response:
    """Bytes, seconds, energy, and proposals."""
    draft = await draft_of(request)
    body = await read_json(request, AskCosts, 2 * MAX_BYTES)
    program = await asyncio.to_thread(program_bytes, request.app.state.settings.dist)
    return json_response(
        await draft_service(request).cost_preview(draft, body.task, body.volunteers, body.examples, program)
    )


async def protection(request: Request) -> Response:
    """Sentences by observer, the guarantee of the noise, and the alternatives."""
    draft = await draft_of(request)
    body = await read_json(request, AskProtection, 2 * MAX_BYTES)
    service = draft_service(request)
    folder = service.drafts.folder(draft)
    return json_response(
        await service.protection.report(draft, folder, body.task, body.epsilon, body.clients)
    )
