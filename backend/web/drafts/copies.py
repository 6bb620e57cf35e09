"""Imports, exports, copies and compares drafts and tasks."""

from __future__ import annotations

import asyncio
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from backend.errors import BadRequestError
from backend.formats.task_file.types import Name
from backend.server.continuation.continuations import Continuations
from backend.server.drafts.record import Draft
from backend.server.drafts.review.comparison import side_of_draft, side_of_task
from backend.server.drafts.review.differences import Side, differences
from backend.server.drafts.task_tables import MAX_BYTES
from backend.server.drafts.transfer.copies import copy_draft, copy_task
from backend.server.drafts.transfer.export_zip import zip_pieces
from backend.server.drafts.transfer.forked_weights import ForkedWeights
from backend.server.drafts.transfer.import_zip import import_toml
from backend.server.hosting.task_registry import TaskRegistry
from backend.web.api.exports import RETRY_SECONDS, WAIT_SECONDS
from backend.web.auth.identity import require
from backend.web.drafts.draft_requests import FRESH, draft_of, draft_service, json_response, owned
from backend.web.requests.body import read_body, read_json, read_pieces

TOML, ZIP = "application/toml", "application/zip"

_CUT_MESSAGE = "The connection ended before the zip file was here."


class Copy(Struct, forbid_unknown_fields=True):
    """The copy's name, and whether the server continues its work automatically."""

    name: Name
    onward: bool = False


class TaskCopy(Copy):
    """A copy of a task, whose version 0 has the weights of `version`; without it, those of version 0."""

    version: Annotated[int, Meta(ge=0)] | Literal["best"] | None = None


def routes() -> list[BaseRoute]:
    """Returns the routes that import, export, copy and compare drafts."""
    return [
        Route("/api/drafts/import", import_draft, methods=["PUT"]),
        Route("/api/drafts/{id}/export", export),
        Route("/api/drafts/{id}/clone", clone, methods=["POST"]),
        Route("/api/tasks/{name}/clone", clone_task, methods=["POST"]),
        Route("/api/differences", compare),
    ]


async def import_draft(request: Request) -> Response:
    """A new draft from a zip that was exported, or from a task file."""
    identity = await require(request, "create")
    drafts, owner = draft_service(request).drafts, identity.account or ""
    await draft_service(request).measure(owner)
    kind = request.headers.get("content-type", "").partition(";")[0].strip()
    if kind == TOML:
        draft = await import_toml(drafts, owner, await read_body(request, MAX_BYTES))
    elif kind == ZIP:
        draft = await draft_service(request).imports.import_zip(
            owner, _length(request), read_pieces(request, _CUT_MESSAGE)
        )
    else:
        raise BadRequestError(f"Send a zip with Content-Type: {ZIP}, or a task.toml with {TOML}.")
    return await _start(request, draft, request.query_params.get("onward") == "1")


async def export(request: Request) -> Response:
    """The draft as a zip; with `data=0` without its data, with `model=0` without its model."""
    draft = await draft_of(request)
    drafts = draft_service(request).drafts
    files = [
        (f"{kind}{stored.suffix}", drafts.file(draft, kind))
        for kind, stored in draft.files.items()
        if request.query_params.get(kind) != "0"
    ]
    pieces = await asyncio.to_thread(zip_pieces, draft_service(request).toml(draft), draft.readme, files)
    name = draft.task.get("name")
    filename = (
        name if isinstance(name, str) and name.replace("-", "").isalnum() and name.isascii() else "draft"
    )
    headers = FRESH | {"Content-Disposition": f'attachment; filename="{filename}.zip"'}
    return StreamingResponse(pieces, headers=headers, media_type=ZIP)


async def clone(request: Request) -> Response:
    """Another draft like this one."""
    draft = await draft_of(request)
    identity = await require(request, "create")
    body = await read_json(request, Copy)
    await draft_service(request).check_new_name(identity.account or "", body.name)
    await draft_service(request).measure(identity.account or "")
    copy = await copy_draft(draft_service(request).drafts, draft, identity.account or "", body.name)
    return await _start(request, copy, body.onward)


async def clone_task(request: Request) -> Response:
    """A draft of a new version of a task, which stays as it is: 202 while its model file is being made."""
    name = request.path_params["name"]
    await require(request, "edit", name)
    identity = await require(request, "create")
    body = await read_json(request, TaskCopy)
    await draft_service(request).check_new_name(identity.account or "", body.name)
    await draft_service(request).measure(identity.account or "")
    registry: TaskRegistry = request.app.state.tasks
    fork: ForkedWeights | None = None
    if body.version is not None:
        continuations: Continuations = request.app.state.continuations
        fork = await continuations.forked(name, body.version, request.app.state.results, WAIT_SECONDS)
        if fork is None:
            return JSONResponse({"state": "making"}, 202, {**FRESH, "Retry-After": str(RETRY_SECONDS)})
    drafts, owner = draft_service(request).drafts, identity.account or ""
    task = registry.task(name)
    copy = await copy_task(drafts, task.folder, owner, body.name, task.changes, fork)
    return await _start(request, copy, body.onward)


async def compare(request: Request) -> Response:
    """What differs between two drafts or tasks, each named as `draft:ID` or `task:NAME`."""
    first, second = request.query_params.get("before", ""), request.query_params.get("after", "")
    before, after = await _side(request, first), await _side(request, second)
    changes = await asyncio.to_thread(differences, before, after)
    return json_response({"before": first, "after": second, "changes": msgspec.to_builtins(changes)})


async def _start(request: Request, draft: Draft, onward: bool) -> Response:
    """Saves a complete new draft and starts its jobs."""
    draft.onward = onward
    await draft_service(request).drafts.save(draft)
    await draft_service(request).queue.advance(draft)
    return json_response(await draft_service(request).describe(draft), 201)


async def _side(request: Request, reference: str) -> Side:
    kind, _, name = reference.partition(":")
    if kind == "draft":
        draft: Draft = await owned(request, name)
        return side_of_draft(draft)
    if kind == "task":
        registry: TaskRegistry = request.app.state.tasks
        await require(request, "inspect", name)
        return await asyncio.to_thread(side_of_task, registry.task(name).folder)
    raise BadRequestError("Say what is compared: `before` and `after`, each `draft:ID` or `task:NAME`.")


def _length(request: Request) -> int | None:
    length = request.headers.get("content-length", "")
    return int(length) if length.isdecimal() and len(length) < 16 else None
