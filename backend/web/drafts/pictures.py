"""Handles the picture that a draft's task will have (docs/reference/http.md)."""

from __future__ import annotations

from msgspec import to_builtins
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from backend.server.pictures.draft_pictures import DraftPictures
from backend.server.pictures.task_pictures import ShownPicture
from backend.web.api.pictures import PictureBody, read_picture
from backend.web.drafts.draft_requests import FRESH, draft_of, json_response
from backend.web.requests.body import read_json


def routes() -> list[BaseRoute]:
    """Returns the routes of drafts' pictures."""
    return [
        Route("/api/drafts/{id}/picture", show),
        Route("/api/drafts/{id}/picture", choose, methods=["PATCH"]),
        Route("/api/drafts/{id}/picture", upload, methods=["PUT"]),
        Route("/api/drafts/{id}/picture/file", file),
    ]


async def show(request: Request) -> Response:
    """Which picture a draft has."""
    return _json(_pictures(request).of(await draft_of(request)))


async def choose(request: Request) -> Response:
    """A draft gets another picture."""
    draft, body = await draft_of(request), await read_json(request, PictureBody)
    return _json(await _pictures(request).choose(draft, body.kind, body.text))


async def upload(request: Request) -> Response:
    """A picture is uploaded for a draft."""
    draft = await draft_of(request)
    return _json(await _pictures(request).upload(draft, await read_picture(request)))


async def file(request: Request) -> Response:
    """The picture that was uploaded for a draft."""
    made = await _pictures(request).file(await draft_of(request))
    return Response(made.content, media_type=made.media_type, headers=FRESH)


def _pictures(request: Request) -> DraftPictures:
    pictures: DraftPictures = request.app.state.draft_pictures
    return pictures


def _json(shown: ShownPicture) -> Response:
    return json_response(to_builtins(shown))
