"""Answers in the language of the reader's browser, also with the sentences of `backend.server`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from starlette.datastructures import Headers
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from backend.translation import activated
from backend.web.pages.languages import catalogue, negotiated


class ReaderLanguage:
    """Activates the reader's language for the application that it wraps."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        language = negotiated(Headers(scope=scope).get("accept-language", ""))
        locales: Path = scope["app"].state.settings.assets / "webapp" / "locales"
        with activated(catalogue(locales, language)):
            await self._app(scope, receive, send)


def in_reader_language(routes: Sequence[BaseRoute]) -> list[BaseRoute]:
    """Has routes of the API answer in the reader's language, since their answers are parts of pages."""
    for route in routes:
        if isinstance(route, Route):
            route.app = ReaderLanguage(route.app)
    return list(routes)
