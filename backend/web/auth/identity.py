"""Who sends a request, and whether they may."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from starlette.requests import HTTPConnection

from backend.errors import SignInError
from backend.server.accounts.accounts import Accounts
from backend.server.accounts.permissions import ANYBODY, Action, Requester, listed, refusal
from backend.server.accounts.tokens import PREFIX
from backend.server.hosting.task_registry import TaskRegistry
from backend.web.auth.cookies import read_cookie

_KEPT = "minga.identity"


async def require(connection: HTTPConnection, action: Action, task: str | None = None) -> Requester:
    """Who sends this, if they may do `action` (on `task`); a request or a socket.

    Raises SignInError (401), ForbiddenError (403), or NotFoundError (404) for a task that does not exist, or
    of which the sender may not know.
    """
    identity = await identify(connection)
    registry: TaskRegistry = connection.app.state.tasks
    error = refusal(identity, action, None if task is None else registry.place(task))
    if error is not None:
        raise error
    return identity


async def require_anew(connection: HTTPConnection, action: Action, task: str) -> None:
    """As `require`, for one that has stood for a while: what was known of its sender counts no more."""
    connection.scope.pop(_KEPT, None)
    await require(connection, action, task)


async def identify(connection: HTTPConnection) -> Requester:
    """Who sends this; anybody, where nothing is shown. Raises SignInError for a token that does not hold."""
    scope = connection.scope
    if _KEPT not in scope:
        scope[_KEPT] = await _find(connection)
    identity: Requester = scope[_KEPT]
    return identity


def signed_in(connection: HTTPConnection) -> bool:
    """Whether a session or token was shown, as far as a handler asked already."""
    identity: Requester | None = connection.scope.get(_KEPT)
    return identity is not None and identity.account is not None


async def summaries_for(connection: HTTPConnection) -> list[dict[str, Any]]:
    """Summaries of the tasks that a list shows to whoever asks (docs/reference/http.md)."""
    identity = await identify(connection)
    registry: TaskRegistry = connection.app.state.tasks
    return [one for one in registry.summaries() if listed(identity, registry.place(one["name"]))]


async def _find(connection: HTTPConnection) -> Requester:
    access: Accounts = connection.app.state.access
    identity = await _account(connection, access)
    visitor = read_cookie(connection, "minga_visitor")
    if visitor is None:
        return identity
    return replace(identity, admitted=await access.invitations.admitted(visitor))


async def _account(connection: HTTPConnection, access: Accounts) -> Requester:
    scheme, _, token = connection.headers.get("authorization", "").partition(" ")
    if scheme:
        if scheme.lower() != "bearer" or not token.strip().startswith(PREFIX):
            raise SignInError(f"Send an API token as `Authorization: Bearer {PREFIX}...`.")
        return await access.identities.of_token(token.strip())
    session = read_cookie(connection, "minga_session")
    return ANYBODY if session is None else await access.identities.of_session(session)
