"""Functions that the handlers of drafts share."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from backend.errors import NotFoundError
from backend.server.drafts.draft_service import DraftService
from backend.server.drafts.record import Draft
from backend.web.auth.identity import require

FRESH = {"Cache-Control": "no-store"}


def draft_service(request: Request) -> DraftService:
    """Returns the server's DraftService."""
    service: DraftService = request.app.state.drafts
    return service


async def draft_of(request: Request) -> Draft:
    """Returns the draft in the URL, for its owner or an operator. Raises as `require`, and NotFoundError."""
    return await owned(request, request.path_params["id"])


async def owned(request: Request, name: str) -> Draft:
    """Returns the draft of the id, for its owner or an operator. Raises as `draft_of`."""
    identity = await require(request, "create")
    draft = draft_service(request).drafts.get(name)
    if draft.owner != identity.account and not identity.operator:
        raise NotFoundError("There is no such draft; your list of drafts shows all you have.")
    return draft


def json_response(content: Any, status: int = 200) -> Response:
    """Returns a JSON response that caches do not store; its sentences are in the reader's language."""
    return JSONResponse(content, status, headers={**FRESH, "Vary": "Accept-Language"})
