"""`/api/drafts/{id}/trial`: runs the dry-run step in the owner's browser (docs/reference/drafts.md)."""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from backend.server.drafts.dry_runs.browser_dry_runs import Report
from backend.web.api.blobs import PRIVATE, FilePart, has_already
from backend.web.auth.user_agents import browser_of
from backend.web.drafts.draft_requests import draft_of, draft_service, json_response
from backend.web.requests.body import read_json

MAX_REPORT_BYTES = 4096


def routes() -> list[BaseRoute]:
    """Returns the routes of the dry run in a browser."""
    return [
        Route("/api/drafts/{id}/trial", trial),
        Route("/api/drafts/{id}/tried", tried, methods=["POST"]),
        Route("/api/drafts/{id}/blobs/{sha256}", blob),
    ]


async def trial(request: Request) -> Response:
    """The inputs of a dry run, its outcomes so far, and the devices that can take part."""
    return json_response(
        {**await draft_service(request).browser_dry_run(await draft_of(request)), "agent": _agent(request)}
    )


async def tried(request: Request) -> Response:
    """Reports the outcome of a dry run; answers as `trial`."""
    draft = await draft_of(request)
    # msgspec needs the union itself, which mypy does not accept as a type.
    report: Report = await read_json(request, Report, MAX_REPORT_BYTES)  # type: ignore[arg-type]
    await draft_service(request).record_dry_run(draft, report, _agent(request))
    return await trial(request)


async def blob(request: Request) -> Response:
    """A file of the draft by its hash: immutable, and not for shared caches."""
    draft, address = await draft_of(request), request.path_params["sha256"]
    path = await asyncio.to_thread(draft_service(request).dry_run_file, draft, address)
    headers = {"ETag": f'"{address}"', "Cache-Control": PRIVATE, "Accept-Ranges": "bytes"}
    if has_already(request.headers.get("if-none-match", ""), address):
        return Response(status_code=304, headers=headers)
    return FilePart(path, request.headers.get("range", ""), headers, lambda _count: None)


def _agent(request: Request) -> str:
    browser, system = browser_of(request.headers.get("user-agent", ""))
    return " on ".join(part for part in (browser, system) if part) or "A program"
