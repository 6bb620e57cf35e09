"""docs/reference/http.md against the addresses that a server answers."""

from __future__ import annotations

import re
from pathlib import Path

from starlette.routing import Route, WebSocketRoute

from backend.settings import read_settings
from backend.web.app import build_app
from backend.web.openapi.document import address
from tests.integration.docs.test_docs import ROOT


def test_the_reference_has_every_address_of_the_server_and_no_other(tmp_path: Path) -> None:
    app = build_app(read_settings({"data_dir": tmp_path}, {}))
    routes = [route for route in app.routes if isinstance(route, Route | WebSocketRoute)]
    answered = {f"{method} {address(route.path)}" for route in routes for method in methods(route)}
    text = (ROOT / "docs/reference/http.md").read_text("utf-8")
    rows = re.findall(r"`([A-Z]+(?:, [A-Z]+)*) (/[^`?]*)", text)
    documented = {f"{method} {path}" for words, path in rows for method in words.split(", ")}
    assert documented == answered


def methods(route: Route | WebSocketRoute) -> set[str]:
    """What one asks an address for; Starlette answers HEAD wherever it answers GET."""
    if isinstance(route, WebSocketRoute):
        return {"WS"}
    asked = route.methods or set()
    return asked - {"HEAD"} if "GET" in asked else asked
