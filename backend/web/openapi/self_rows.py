"""Table rows of the API's own description."""

from __future__ import annotations

from backend.web.openapi.rows import Row, file, keys

ROWS: dict[str, Row] = {
    "GET /api/openapi.json": Row("anybody", {200: keys("openapi", "info", "paths", "components")}),
    "GET /api/docs": Row("anybody", {200: file("text/html")}),
}
