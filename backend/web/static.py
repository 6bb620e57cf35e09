"""The built web app."""

from __future__ import annotations

import os
import re

from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from backend.web.blobs import IMMUTABLE

# Vite puts a hash of the content into names: `assets/train-BxYz12_4.js`.
_HASHED = re.compile(r"-[A-Za-z0-9_-]{8,}\.[a-z0-9]+$")


class BuiltFiles(StaticFiles):
    """Files whose name holds their hash are cached for ever, others are asked for again."""

    def file_response(
        self,
        full_path: str | os.PathLike[str],
        stat_result: os.stat_result,
        scope: Scope,
        status_code: int = 200,
    ) -> Response:
        """Starlette's response with the cache's rule added."""
        response = super().file_response(full_path, stat_result, scope, status_code)
        hashed = _HASHED.search(os.fspath(full_path))
        response.headers["Cache-Control"] = IMMUTABLE if hashed else "no-cache"
        return response
