"""`/api/drafts/{id}/files/{kind}`: uploads models and data in pieces; a cut-off client can resume."""

from __future__ import annotations

from typing import get_args

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from backend.errors import BadRequestError, NotFoundError
from backend.server.drafts.record import FileKind
from backend.web.drafts.draft_requests import draft_of, draft_service, json_response
from backend.web.requests.body import read_json, read_pieces

OFFSET, LENGTH = "Upload-Offset", "Upload-Length"

_CUT_MESSAGE = "The connection ended; what came is kept."


class BeginUpload(Struct, forbid_unknown_fields=True):
    """A file of so many bytes is to come; with `sha256` it is kept only if that is its hash."""

    name: str
    bytes: int
    sha256: str | None = None


def routes() -> list[BaseRoute]:
    """Returns the routes of an upload's steps."""
    path = "/api/drafts/{id}/files/{kind}"
    return [
        Route(path, begin, methods=["POST"]),
        Route(path, offset, methods=["HEAD"]),
        Route(path, append, methods=["PATCH"]),
        Route(path, cancel, methods=["DELETE"]),
    ]


async def begin(request: Request) -> Response:
    """Announces a file."""
    draft = await draft_of(request)
    body = await read_json(request, BeginUpload)
    await draft_service(request).measure(draft.owner)
    upload = await draft_service(request).uploads.begin(
        draft, _kind(request), body.name, body.bytes, body.sha256
    )
    return json_response({**msgspec.to_builtins(upload), "offset": 0}, 201)


async def offset(request: Request) -> Response:
    """How many bytes are here of a file on its way, or of the one with the hash that is asked for."""
    draft, kind = await draft_of(request), _kind(request)
    received = draft_service(request).uploads.offset(draft, kind, request.query_params.get("sha256"))
    upload = draft.uploads.get(kind)
    return Response(
        headers={
            OFFSET: str(received),
            LENGTH: str(received if upload is None else upload.bytes),
            "Cache-Control": "no-store",
        }
    )


async def append(request: Request) -> Response:
    """Takes the next piece; the last one has the file looked at and kept."""
    draft, upload_offset = await draft_of(request), request.headers.get(OFFSET, "")
    if not upload_offset.isdecimal() or len(upload_offset) > 15:
        raise BadRequestError(f"Say where the piece belongs: {OFFSET}, a whole number of bytes.")
    received = await draft_service(request).append(
        draft, _kind(request), int(upload_offset), read_pieces(request, _CUT_MESSAGE)
    )
    return Response(status_code=204, headers={OFFSET: str(received)})


async def cancel(request: Request) -> Response:
    """Forgets an upload."""
    await draft_service(request).uploads.cancel(await draft_of(request), _kind(request))
    return Response(status_code=204)


def _kind(request: Request) -> FileKind:
    kind: FileKind = request.path_params["kind"]
    if kind not in get_args(FileKind):
        raise NotFoundError("A draft has a `model` and `data`; there are no other files.")
    return kind
