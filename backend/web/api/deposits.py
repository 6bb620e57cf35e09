"""Accepts the weights that a mesh peer uploads for its task's records."""

from __future__ import annotations

import asyncio
import hashlib

from starlette.requests import Request
from starlette.responses import Response

from backend.errors import BadRequestError, NotWantedError
from backend.server.hosting.scheme import WeightsDeposits
from backend.web.auth.identity import require
from backend.web.requests.body import gather


async def deposit(request: Request) -> Response:
    """Weights are uploaded, as little-endian float32, if the task asks for these now."""
    await require(request, "join", request.path_params["name"])
    deposits: WeightsDeposits = request.app.state.tasks.task(request.path_params["name"]).deposits()
    address = request.path_params["sha256"]
    if not deposits.wants(address):
        raise NotWantedError(
            "These weights are not needed: they are already recorded, or no group made them."
        )
    data = await _body(request, deposits.weights_bytes)
    if (await asyncio.to_thread(hashlib.sha256, data)).hexdigest() != address:
        raise BadRequestError("The bytes are not those of this address; send the weights again.")
    await deposits.deposit(address, data)
    return Response(status_code=204)


async def _body(request: Request, size: int) -> bytearray:
    """Reads a body of exactly `size` bytes. Raises TooLongError or BadRequestError."""
    too_long = f"The weights of this model have {size} bytes; these are more."
    data = await gather(request, size, too_long, "the weights were")
    if len(data) != size:
        raise BadRequestError(f"The weights of this model have {size} bytes; these have {len(data)}.")
    return data
