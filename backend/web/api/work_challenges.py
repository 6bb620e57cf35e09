"""Serves challenges to a proof of work, and takes their solutions (docs/reference/http.md)."""

from __future__ import annotations

import re
from typing import Annotated

from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response

from backend.crypto.proof_of_work import PARTS
from backend.errors import BadRequestError, NotWantedError
from backend.server.hosting.clients.work_challenges import WorkChallenges
from backend.server.hosting.task_registry import TaskRegistry
from backend.web.auth.identity import identity_text, require
from backend.web.auth.sign_in import fresh
from backend.web.requests.body import read_json
from backend.wire.fields import Count

_CLIENT = re.compile(r"[0-9a-f]{16}")


class SolvedChallenge(Struct, forbid_unknown_fields=True):
    """Body: a challenge, and the number that solves each of its parts."""

    challenge: Annotated[str, Meta(max_length=100)]
    nonces: Annotated[list[Count], Meta(min_length=PARTS, max_length=PARTS)]


async def challenge(request: Request) -> Response:
    """The challenge that a client has to solve before it joins, or null."""
    task, client = request.path_params["name"], _client(request)
    identity = identity_text(request, await require(request, "join", task), task)
    work = _work(request)
    if work is None or not work.asks(client, identity):
        return fresh({"challenge": None})
    issued = work.issue(client)
    return fresh({"challenge": issued.text, "bits": issued.bits, "parts": PARTS, "seconds": issued.seconds})


async def solve(request: Request) -> Response:
    """A client proves its work."""
    client = _client(request)
    await require(request, "join", request.path_params["name"])
    body = await read_json(request, SolvedChallenge)
    work = _work(request)
    if work is None:
        raise NotWantedError("This task asks nobody for a proof of work; join it.")
    work.solve(client, body.challenge, body.nonces)
    return Response(status_code=204)


def _work(request: Request) -> WorkChallenges | None:
    registry: TaskRegistry = request.app.state.tasks
    return registry.host(request.path_params["name"]).admission.work


def _client(request: Request) -> str:
    client: str = request.path_params["client"]
    if not _CLIENT.fullmatch(client):
        raise BadRequestError("A client's id has 16 hexadecimal digits: the first of its token's SHA-256.")
    return client
