"""Serves the API's description: `/api/openapi.json` for programs, `/api/docs` for people."""

from __future__ import annotations

import json
from importlib.metadata import PackageNotFoundError, version
from itertools import chain
from typing import Any

from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from backend.web.openapi.document import openapi
from backend.web.openapi.page import refusals, sections
from backend.web.pages.pages import page_route, render


def routes() -> list[BaseRoute]:
    """Returns the routes of the API's description."""
    return [
        Route("/api/openapi.json", document, middleware=[Middleware(GZipMiddleware)]),
        page_route("/api/docs", page),
    ]


async def document(request: Request) -> Response:
    """This API as OpenAPI 3.1."""
    return Response(json.dumps(_document(request)), media_type="application/json")


async def page(request: Request) -> Response:
    """This API as a page to read."""
    document_json, origin = _document(request), f"{request.url.scheme}://{request.url.netloc}"
    by_part = sections(document_json)
    context = {
        "example": f'curl -H "Authorization: Bearer $MINGA_TOKEN" {origin}/api/drafts',
        "sections": by_part,
        "refusals": refusals(chain.from_iterable(by_part.values())),
        "sockets": document_json["x-sockets"],
    }
    return render(request, "pages/api.html", context)


def _document(request: Request) -> dict[str, Any]:
    # Cached, because the routes do not change while the server runs.
    state = request.app.state
    if not hasattr(state, "openapi"):
        state.openapi = openapi(request.app.routes, _version())
    document_json: dict[str, Any] = state.openapi
    return document_json


def _version() -> str:
    try:
        return version("minga")
    except PackageNotFoundError:
        return "from source"
