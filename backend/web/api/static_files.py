"""The built web app, and the documentation's pages."""

from __future__ import annotations

import os
import re
from pathlib import Path

from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from backend.web.api.blobs import IMMUTABLE

# Vite puts a hash of the content into names: `assets/train-BxYz12_4.js`.
_HASHED = re.compile(r"-[A-Za-z0-9_-]{8,}\.[a-z0-9]+$")


class PublicFiles(StaticFiles):
    """The files of a folder, which may be missing; `pages` where its names are those of pages.

    Caches ask for pages again. Of the web app they keep for ever what has its hash in its name.
    """

    def __init__(self, folder: Path, *, pages: bool = False) -> None:
        super().__init__(directory=folder, html=pages, check_dir=False)

    async def check_config(self) -> None:
        """Nothing: what is asked of a folder that is missing is not there, and no fault of the server."""

    def file_response(
        self,
        full_path: str | os.PathLike[str],
        stat_result: os.stat_result,
        scope: Scope,
        status_code: int = 200,
    ) -> Response:
        """Starlette's response with the cache's rule added."""
        response = super().file_response(full_path, stat_result, scope, status_code)
        hashed = not self.html and _HASHED.search(os.fspath(full_path))
        response.headers["Cache-Control"] = IMMUTABLE if hashed else "no-cache"
        return response
