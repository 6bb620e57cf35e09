"""`/api/drafts/{id}/files/{kind}`: receives models and data by tus 1.0; a cut-off client can resume."""

from __future__ import annotations

from typing import get_args

from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from backend.errors import NotFoundError, WrongTypeError
from backend.server.drafts.record import FileKind
from backend.web.drafts.draft_requests import FRESH, draft_of, draft_service
from backend.web.drafts.tus import EXTENSIONS, PIECE_TYPE, TusVersion, read_bytes, read_metadata
from backend.web.requests.body import read_pieces

OFFSET, LENGTH, METADATA = "Upload-Offset", "Upload-Length", "Upload-Metadata"

_CUT_MESSAGE = "The connection ended; the received bytes are kept."


def routes() -> list[BaseRoute]:
    """Returns the routes of an upload's steps."""
    files = "/api/drafts/{id}/files/{kind}"
    steps = (
        (files, "OPTIONS", describe),
        (files, "POST", begin),
        (f"{files}/{{upload}}", "HEAD", offset),
        (f"{files}/{{upload}}", "PATCH", append),
        (f"{files}/{{upload}}", "DELETE", cancel),
    )
    version = [Middleware(TusVersion)]
    return [Route(path, handler, methods=[method], middleware=version) for path, method, handler in steps]


async def describe(request: Request) -> Response:
    """Says what of tus is spoken here, and the length of the longest file."""
    longest = draft_service(request).uploads.max_bytes(_kind(request))
    return Response(status_code=204, headers={"Tus-Extension": EXTENSIONS, "Tus-Max-Size": str(longest)})


async def begin(request: Request) -> Response:
    """Announces a file."""
    draft, kind = await draft_of(request), _kind(request)
    size, text = read_bytes(request, LENGTH), request.headers.get(METADATA, "")
    metadata = read_metadata(text)
    await draft_service(request).measure(draft.owner)
    upload = await draft_service(request).uploads.begin(
        draft, kind, metadata.get("filename", ""), size, metadata.get("sha256"), text
    )
    return Response(status_code=201, headers={"Location": f"{request.url.path}/{upload.id}"})


async def offset(request: Request) -> Response:
    """How many bytes of a file are here."""
    draft, kind = await draft_of(request), _kind(request)
    upload, received = draft_service(request).uploads.find(draft, kind, request.path_params["upload"])
    if received == upload.bytes:
        await draft_service(request).complete_uploads(draft)
    said = {METADATA: upload.metadata} if upload.metadata else {}
    return Response(headers={OFFSET: str(received), LENGTH: str(upload.bytes), **said, **FRESH})


async def append(request: Request) -> Response:
    """Takes the next piece; the last one has the file looked at and kept."""
    draft, kind = await draft_of(request), _kind(request)
    if request.headers.get("content-type") != PIECE_TYPE:
        raise WrongTypeError(f"A piece of a file has the header Content-Type: {PIECE_TYPE}.")
    start = read_bytes(request, OFFSET)
    # Nothing else runs between this check and `append`, which takes the file for itself.
    draft_service(request).uploads.find(draft, kind, request.path_params["upload"])
    received = await draft_service(request).append(draft, kind, start, read_pieces(request, _CUT_MESSAGE))
    return Response(status_code=204, headers={OFFSET: str(received)})


async def cancel(request: Request) -> Response:
    """Discards an upload."""
    draft, kind = await draft_of(request), _kind(request)
    draft_service(request).uploads.find(draft, kind, request.path_params["upload"])
    await draft_service(request).uploads.cancel(draft, kind)
    return Response(status_code=204)


def _kind(request: Request) -> FileKind:
    kind: FileKind = request.path_params["kind"]
    if kind not in get_args(FileKind):
        raise NotFoundError("A draft has a `model` and `data`; there are no other files.")
    return kind
