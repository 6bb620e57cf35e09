"""Immutable bytes by their address."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import FileResponse, Response

IMMUTABLE = "public, max-age=31536000, immutable"


async def blob(request: Request) -> Response:
    """`GET /blobs/{sha256}`: whole, by Range, or not at all where the reader has it already."""
    address = request.path_params["sha256"]
    path = await request.app.state.stores.blobs.path(address)
    headers = {"ETag": f'"{address}"', "Cache-Control": IMMUTABLE}
    if _has(request.headers.get("if-none-match", ""), address):
        return Response(status_code=304, headers=headers)
    return FileResponse(path, headers=headers, media_type="application/octet-stream")


def _has(if_none_match: str, address: str) -> bool:
    tags = [tag.strip().removeprefix("W/") for tag in if_none_match.split(",")]
    return f'"{address}"' in tags or "*" in tags
