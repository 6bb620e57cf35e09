"""Serves a task's downloads, figures, versions in other formats, model cards, and integrity scores."""

from __future__ import annotations

import asyncio
import base64
from typing import Annotated, Any

from msgspec import Meta, Struct
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from backend.errors import BadRequestError
from backend.server.accounts.permissions import may
from backend.server.drafts.transfer.export_zip import zip_pieces
from backend.server.exports.integrity_checks import IntegrityChecks
from backend.server.exports.task_exports import TaskExports, VersionFile
from backend.server.hosting.task_registry import TaskRegistry
from backend.web.api.blobs import FilePart, has_already
from backend.web.auth.identity import identify, require
from backend.web.pages.pages import render
from backend.web.requests.body import read_json
from backend.web.requests.query import number_asked

# A client retries for a file that takes longer, because proxies cut responses that are silent for a minute.
WAIT_SECONDS, RETRY_SECONDS = 10.0, 2
_NO_STORE = {"Cache-Control": "no-store"}


class AcceptBody(Struct, frozen=True, forbid_unknown_fields=True):
    """Which version is offered in spite of its integrity check."""

    version: Annotated[int, Meta(ge=0)]


class RollbackBody(Struct, frozen=True, forbid_unknown_fields=True):
    """Which version is to be the newest again."""

    version: Annotated[int, Meta(ge=0)]


def routes() -> list[BaseRoute]:
    """Returns the routes of a task's downloads, below /api for programs, and of their pages."""
    shrunk = [Middleware(GZipMiddleware)]
    return [
        Route("/api/tasks/{name}/figures/{file}", figure_file),
        Route("/api/tasks/{name}/compare", compare),
        Route("/api/tasks/{name}/export", export),
        Route("/api/tasks/{name}/accept", accept, methods=["POST"]),
        Route("/api/tasks/{name}/restore", restore, methods=["POST"]),
        Route("/api/tasks/{name}/versions/{version:int}", version),
        Route("/api/tasks/{name}/versions/{version:int}/card", card),
        Route("/api/tasks/{name}/versions/{version:int}/integrity", integrity),
        Route("/api/tasks/{name}/versions/{version:int}/{format}", version_file),
        Route("/tasks/{name}/versions/{version:int}", version_page, middleware=shrunk),
        Route("/tasks/{name}/versions/{version:int}/{format}", version_file_for_people),
    ]


async def figure_file(request: Request) -> Response:
    """The rounds and versions of a task as a table, JSON or TensorBoard's events."""
    path, results = request.path_params, await _results(request)
    file = await results.figures(path["name"], path["file"])
    return Response(file.content, media_type=file.media_type, headers={**_NO_STORE, **_attachment(file.name)})


async def compare(request: Request) -> Response:
    """How far apart two versions are."""
    results = await _results(request)
    before, after = (number_asked(request, name, None) for name in ("before", "after"))
    if before is None or after is None:
        raise BadRequestError("Say which two versions, as in compare?before=3&after=7.")
    comparison = await results.compare(request.path_params["name"], before, after)
    return JSONResponse(comparison, headers=_NO_STORE)


async def accept(request: Request) -> Response:
    """A version that did not pass its integrity check is offered in spite of it."""
    name = request.path_params["name"]
    await require(request, "manage", name)
    body = await read_json(request, AcceptBody)
    registry: TaskRegistry = request.app.state.tasks
    await registry.task(name).accept(body.version)
    return JSONResponse(await (await _results(request)).version(name, body.version), headers=_NO_STORE)


async def restore(request: Request) -> Response:
    """An earlier version becomes the newest again."""
    await require(request, "manage", request.path_params["name"])
    body = await read_json(request, RollbackBody)
    results = await _results(request)
    return JSONResponse(await results.restore(request.path_params["name"], body.version), headers=_NO_STORE)


async def export(request: Request) -> Response:
    """Everything of a task in one zip: task file, text, bundle, shards, figures, card, newest version."""
    name = request.path_params["name"]
    await require(request, "manage", name)
    contents = await (await _results(request)).whole(name, WAIT_SECONDS)
    if contents is None:
        return JSONResponse({"state": "making"}, 202, {**_NO_STORE, "Retry-After": str(RETRY_SECONDS)})
    pieces = await asyncio.to_thread(zip_pieces, contents.toml, contents.readme, contents.files)
    return StreamingResponse(
        pieces, headers={**_NO_STORE, **_attachment(f"{name}.zip")}, media_type="application/zip"
    )


async def version(request: Request) -> Response:
    """A version and the formats it comes in."""
    path, results = request.path_params, await _results(request)
    return JSONResponse(await results.version(path["name"], path["version"]), headers=_NO_STORE)


async def card(request: Request) -> Response:
    """The model card of a version."""
    path, results = request.path_params, await _results(request)
    text = await results.card(path["name"], path["version"])
    headers = {**_NO_STORE, **_attachment(f"{path['name']}-{path['version']}.md")}
    return PlainTextResponse(text, media_type="text/markdown", headers=headers)


async def integrity(request: Request) -> Response:
    """The integrity score of a version, or 202 while it is being measured."""
    path = request.path_params
    await require(request, "view", path["name"])
    checks: IntegrityChecks = request.app.state.integrity
    against = number_asked(request, "against", None)
    score = await checks.score(path["name"], path["version"], against, WAIT_SECONDS)
    if score is None:
        return JSONResponse({"state": "making"}, 202, {**_NO_STORE, "Retry-After": str(RETRY_SECONDS)})
    return JSONResponse(score, headers=_NO_STORE)


async def version_file(request: Request) -> Response:
    """A version in a format: the file, or 202 while it is being made."""
    file = await _file(request)
    if file.made is not None:
        return _file_response(request, file)
    headers = {**_NO_STORE, "Retry-After": str(RETRY_SECONDS)}
    return JSONResponse({"state": "making", "format": file.format.name}, 202, headers)


async def version_file_for_people(request: Request) -> Response:
    """Like `version_file`, but answers with a page that reloads itself while the file is being made."""
    file = await _file(request)
    if file.made is not None:
        return _file_response(request, file)
    path = request.path_params
    summary = request.app.state.tasks.task(path["name"]).summary()
    context = {"task": summary, "version": path["version"], "format": file.format}
    page = render(request, "pages/export-pending.html", context, 202)
    page.headers.update({**_NO_STORE, "Refresh": str(RETRY_SECONDS)})
    return page


async def version_page(request: Request) -> Response:
    """Renders a version's page: details, files, and the difference from another version."""
    registry, results = request.app.state.tasks, await _results(request)
    name, number = request.path_params["name"], request.path_params["version"]
    details = await results.version(name, number)
    others = [row["version"] for row in await registry.task(name).versions() if row["let_go"] is None]
    others = [other for other in others if other != number]
    comparison: dict[str, Any] | None = None
    if others and details["let_go"] is None:
        other = number_asked(request, "with", None)
        comparison = await results.compare(
            name, _previous(others, number) if other is None else other, number
        )
    summary = registry.task(name).summary()
    may_manage = may(await identify(request), "manage", registry.place(name))
    context = {
        "task": summary,
        "version": details,
        "plan": registry.host(name).task.file,
        "compared": comparison,
        "others": others,
        "may_manage": may_manage,
        "may_restore": may_manage
        and details["let_go"] is None
        and number != summary["version"]
        and summary["scheme"] == "federated"
        and summary["phase"] != "finished",
        "may_continue": may_manage and details["let_go"] is None and summary["phase"] == "finished",
    }
    return render(request, "pages/version.html", context)


async def _file(request: Request) -> VersionFile:
    path, results = request.path_params, await _results(request)
    registry: TaskRegistry = request.app.state.tasks
    if not may(await identify(request), "manage", registry.place(path["name"])):
        results.check_offered(path["name"], path["version"])
    return await results.file(path["name"], path["version"], path["format"], WAIT_SECONDS)


def _file_response(request: Request, file: VersionFile) -> Response:
    """Returns the file, whole or by Range, with its SHA-256 as ETag and Repr-Digest (RFC 9530)."""
    assert file.made is not None  # noqa: S101 - the callers checked.
    sha256 = file.made.sha256
    digest = base64.b64encode(bytes.fromhex(sha256)).decode()
    headers = {
        "ETag": f'"{sha256}"',
        "Repr-Digest": f"sha-256=:{digest}:",
        "Cache-Control": "private, no-cache",
        "Accept-Ranges": "bytes",
        "Content-Type": file.format.media_type,
        **_attachment(file.name),
    }
    if has_already(request.headers.get("if-none-match", ""), sha256):
        return Response(status_code=304, headers=headers)
    byte_range = request.headers.get("range", "")
    if request.headers.get("if-range", f'"{sha256}"') != f'"{sha256}"':
        byte_range = ""
    return FilePart(file.made.path, byte_range, headers, lambda _count: None)


def _previous(others: list[int], number: int) -> int:
    """Returns the newest of `others` before `number`, or else the oldest of them."""
    return max((other for other in others if other < number), default=min(others))


def _attachment(name: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{name}"'}


async def _results(request: Request) -> TaskExports:
    """Returns the server's TaskExports. Raises as `require` unless the sender may view the task."""
    await require(request, "view", request.path_params["name"])
    results: TaskExports = request.app.state.results
    return results
