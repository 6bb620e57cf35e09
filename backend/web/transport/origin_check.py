"""Refuses requests of other sites' pages, which must not use a visitor's cookies."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from backend.errors import ForbiddenError
from backend.web.transport.error_responses import refusal

SAFE = frozenset(("GET", "HEAD", "OPTIONS"))


def is_foreign(headers: Mapping[str, str]) -> bool:
    """Whether a page of another site sent this. Programs send neither header and are not foreign."""
    origin, site = headers.get("origin"), headers.get("sec-fetch-site")
    if origin is not None and urlsplit(origin).netloc != headers.get("host"):
        return True
    return site in ("cross-site", "same-site")


def is_unknown(headers: Mapping[str, str]) -> bool:
    """Whether this has a session cookie, as browsers send, but no header that names its page."""
    has_origin = "origin" in headers or "sec-fetch-site" in headers
    return not has_origin and "minga_session" in headers.get("cookie", "")


class SameOrigin:
    """Refuses state-changing requests from pages of other sites (cross-site request forgery)."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] not in SAFE:
            headers = Headers(scope=scope)
            if is_foreign(headers) or is_unknown(headers):
                error = ForbiddenError(
                    "Pages of other sites may not do this here. Programs send an API token and no cookie."
                )
                await refusal(Request(scope), error)(scope, receive, send)
                return
        await self._app(scope, receive, send)
