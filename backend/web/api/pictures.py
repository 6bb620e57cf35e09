"""Serves the pictures of tasks, and takes what their owners choose (docs/reference/http.md)."""

from __future__ import annotations

from msgspec import Struct, to_builtins
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from backend.server.accounts.permissions import ANYBODY, may
from backend.server.pictures.picture_decoder import MAX_UPLOAD_BYTES
from backend.server.pictures.picture_files import AlternativeText, PictureKind
from backend.server.pictures.task_pictures import ShownPicture, TaskPictures
from backend.translation import gettext, later
from backend.web.api.blobs import IMMUTABLE, PRIVATE, has_already
from backend.web.auth.identity import require
from backend.web.pages.reader_language import in_reader_language
from backend.web.requests.body import gather, read_json

TOO_LONG = later("A picture may have at most 5 MB. Make it smaller, 1280 pixels wide for example.")


class PictureBody(Struct, forbid_unknown_fields=True):
    """Body: another picture, another text for an uploaded one, or both."""

    kind: PictureKind | None = None
    text: AlternativeText | None = None


def routes() -> list[BaseRoute]:
    """Returns the routes of pictures; what owners read is in the language of their page."""
    return [
        Route("/tasks/{name}/picture", picture),
        *in_reader_language(
            [
                Route("/api/tasks/{name}/picture", show),
                Route("/api/tasks/{name}/picture", choose, methods=["PATCH"]),
                Route("/api/tasks/{name}/picture", upload, methods=["PUT"]),
            ]
        ),
    ]


def pictures_of(request: Request) -> TaskPictures:
    """Returns the pictures of the server's tasks."""
    pictures: TaskPictures = request.app.state.pictures
    return pictures


async def picture(request: Request) -> Response:
    """`GET /tasks/{name}/picture`: its bytes, or not at all where the reader has them already."""
    name, asked = request.path_params["name"], request.query_params.get("v")
    tag = pictures_of(request).of(name).tag
    public = may(ANYBODY, "view", request.app.state.tasks.place(name))
    lasting, changing = (IMMUTABLE, "public, no-cache") if public else (PRIVATE, "private, no-cache")
    headers = {"ETag": f'"{tag}"', "Cache-Control": lasting if tag and asked == tag else changing}
    if tag and has_already(request.headers.get("if-none-match", ""), tag):
        return Response(status_code=304, headers=headers)
    file = await pictures_of(request).file(name)
    return Response(file.content, media_type=file.media_type, headers=headers)


async def show(request: Request) -> Response:
    """Which picture a task has, and which others it could have."""
    return _json(pictures_of(request).of(request.path_params["name"]))


async def choose(request: Request) -> Response:
    """A task in a private test gets another picture."""
    name = request.path_params["name"]
    await require(request, "edit", name)
    body = await read_json(request, PictureBody)
    return _json(await pictures_of(request).choose(name, body.kind, body.text))


async def upload(request: Request) -> Response:
    """A picture is uploaded for a task in a private test."""
    name = request.path_params["name"]
    await require(request, "edit", name)
    return _json(await pictures_of(request).upload(name, await read_picture(request)))


async def read_picture(request: Request) -> bytes:
    """Reads an uploaded picture. Raises TooLongError, or BadRequestError if it ends early."""
    return bytes(await gather(request, MAX_UPLOAD_BYTES, gettext(TOO_LONG), "the picture was"))


def _json(shown: ShownPicture) -> Response:
    return JSONResponse(to_builtins(shown), headers={"Cache-Control": "no-store"})
