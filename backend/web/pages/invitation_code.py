"""Draws the address of a task's training page as a QR code, for posters and for phones' cameras."""

from __future__ import annotations

import io

import segno
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from backend.server.hosting.task_registry import TaskRegistry

# An address behind a proxy may change: the code is asked for again after a minute.
_HEADERS = {"Cache-Control": "private, max-age=60"}


def routes() -> list[BaseRoute]:
    """Returns the route of the code."""
    return [Route("/tasks/{name}/qr.svg", qr_code)]


async def qr_code(request: Request) -> Response:
    """Answers with the code as SVG. Raises NotFoundError."""
    registry: TaskRegistry = request.app.state.tasks
    name = registry.host(request.path_params["name"]).name
    address = f"{request.url.scheme}://{request.url.netloc}/tasks/{name}/train"
    picture = io.BytesIO()
    segno.make(address, error="m").save(picture, kind="svg", scale=4, border=4, light="#fff")
    return Response(picture.getvalue(), media_type="image/svg+xml", headers=_HEADERS)
