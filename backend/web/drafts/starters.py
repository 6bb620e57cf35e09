"""`/api/drafts/{id}/starter`: begins a draft with a starter model (docs/reference/drafts.md)."""

from __future__ import annotations

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from backend.formats.task_file.types import Name
from backend.web.drafts.draft_requests import draft_of, draft_service, json_response
from backend.web.requests.body import read_json


class StarterBody(Struct, forbid_unknown_fields=True):
    """The starter model that a draft begins with."""

    starter: Name


def routes() -> list[BaseRoute]:
    """Returns the route of starter models."""
    return [Route("/api/drafts/{id}/starter", choose, methods=["POST"])]


async def choose(request: Request) -> Response:
    """Begins with a starter model, which is built as soon as the data are known."""
    draft = await draft_of(request)
    body = await read_json(request, StarterBody)
    await draft_service(request).choose_starter(draft, body.starter)
    return json_response(await draft_service(request).describe(draft))
