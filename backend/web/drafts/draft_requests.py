"""What handlers of drafts share."""

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
    """What does all the work."""
    found: DraftService = request.app.state.drafts
    return found


async def draft_of(request: Request) -> Draft:
    """The draft of the address, for those whose it is, and operators. Raises as `require`; NotFoundError."""
    return await owned(request, request.path_params["id"])


async def owned(request: Request, name: str) -> Draft:
    """The draft of that id, for those whose it is, and operators. Raises as `draft_of`."""
    identity = await require(request, "create")
    draft = draft_service(request).drafts.get(name)
    if draft.owner != identity.account and not identity.operator:
        raise NotFoundError("There is no such draft; your list of drafts has all that there are.")
    return draft


def json_response(content: Any, status: int = 200) -> Response:
    """JSON that is never kept by caches."""
    return JSONResponse(content, status, headers=FRESH)
