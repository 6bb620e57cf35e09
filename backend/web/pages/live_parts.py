"""Renders the parts of a page that change, for scripts that refresh it: the query `live` asks for them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from jinja2 import Template
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from backend.web.api.blobs import has_already

QUERY = "live"
# Templates name their blocks of live parts so.
PREFIX = "live_"


def asks_for_live_parts(request: Request, page: Template) -> bool:
    """Whether the request asks for the live parts of a page that has some."""
    return QUERY in request.query_params and any(name.startswith(PREFIX) for name in page.blocks)


def render_live_parts(
    request: Request, page: Template, values: Mapping[str, Any], headers: Mapping[str, str]
) -> Response:
    """Returns the blocks `live_*` of a page, or 304 if the reader has them as they are."""
    context = page.new_context(dict(values))
    blocks = (block for name, block in page.blocks.items() if name.startswith(PREFIX))
    text = "".join(piece for block in blocks for piece in block(context))
    tag = hashlib.sha256(text.encode()).hexdigest()[:32]
    # The browser keeps the parts, and asks whether they are still the same.
    sent = {**headers, "ETag": f'W/"{tag}"', "Cache-Control": "private, no-cache"}
    if has_already(request.headers.get("if-none-match", ""), tag):
        return Response(status_code=304, headers=sent)
    return HTMLResponse(text, headers=sent)
