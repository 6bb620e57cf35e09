"""Handles the removal of one's own account, and the operators' list and removal of accounts."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from backend.errors import BadRequestError, NotFoundError
from backend.server.hosting.task_registry import TaskRegistry
from backend.stores.access import AccountRecord
from backend.web.auth.cookies import drop_cookie
from backend.web.auth.identity import require
from backend.web.auth.sign_in import access_of, fresh, identified, person
from backend.web.drafts.draft_requests import draft_service
from backend.web.requests.body import read_json
from backend.web.transport.authorized_sockets import connections_of


class Named(Struct, forbid_unknown_fields=True):
    """The name of an account that is to go, so that none goes by mistake."""

    name: Annotated[str, Meta(max_length=64)]


def routes() -> list[BaseRoute]:
    """Returns the routes of accounts."""
    return [
        Route("/api/account", leave, methods=["DELETE"]),
        Route("/api/accounts", listing),
        Route("/api/accounts/{id}", remove, methods=["DELETE"]),
    ]


async def leave(request: Request) -> Response:
    """Removes one's own account, with its drafts."""
    account = await access_of(request).records.account(await person(request))
    if account is None:
        raise NotFoundError("This account is gone.")
    await _remove(request, account)
    response = Response(status_code=204)
    drop_cookie(request, response, "minga_session")
    return response


async def listing(request: Request) -> Response:
    """All accounts, for operators."""
    await require(request, "administer")
    access = access_of(request)
    accounts = await access.records.accounts()
    summaries = [
        {
            "id": account.id,
            "name": account.name,
            "operator": account.operator,
            "created": account.created,
            "roles": await access.records.roles(account.id),
        }
        for account in accounts
    ]
    return fresh({"accounts": summaries})


async def remove(request: Request) -> Response:
    """An operator removes an account, with its drafts."""
    await require(request, "administer")
    await person(request)
    account = await access_of(request).records.account(identified(request))
    if account is None:
        raise NotFoundError("There is no such account.")
    await _remove(request, account)
    return Response(status_code=204)


async def _remove(request: Request, account: AccountRecord) -> None:
    body = await read_json(request, Named)
    if body.name != account.name:
        raise BadRequestError("To remove an account, send its name, spelled as it is.")
    registry: TaskRegistry = request.app.state.tasks
    tasks = {host.name for host in registry.hosts} | set(registry.problems)
    await access_of(request).deletion.remove(account, tasks)
    for draft in draft_service(request).drafts.of(account.id):
        await draft_service(request).delete(draft)
    await connections_of(request).recheck()
