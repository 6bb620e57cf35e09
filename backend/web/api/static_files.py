"""Serves the built web app and the documentation's pages."""

from __future__ import annotations

import os
import re
from pathlib import Path

from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from backend.web.api.blobs import IMMUTABLE

# Vite adds a hash of the content to names: `assets/train-BxYz12_4.js`.
_HASHED = re.compile(r"-[A-Za-z0-9_-]{8,}\.[a-z0-9]+$")


class PublicFiles(StaticFiles):
    """Serves the files of a folder, which may be missing; with `pages`, as HTML pages.

    Caches revalidate pages. They keep files of the web app with a hash in their name indefinitely.
    """

    def __init__(self, folder: Path, *, pages: bool = False) -> None:
        super().__init__(directory=folder, html=pages, check_dir=False)

    async def check_config(self) -> None:
        """Checks nothing: a missing folder means 404 for its files, not a server error."""

    def file_response(
        self,
        full_path: str | os.PathLike[str],
        stat_result: os.stat_result,
        scope: Scope,
        status_code: int = 200,
    ) -> Response:
        """Returns Starlette's response with a Cache-Control header added."""
        response = super().file_response(full_path, stat_result, scope, status_code)
        hashed = not self.html and _HASHED.search(os.fspath(full_path))
        response.headers["Cache-Control"] = IMMUTABLE if hashed else "no-cache"
        return response
