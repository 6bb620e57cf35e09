"""Identifies the sender of a request and checks permissions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from starlette.requests import HTTPConnection

from backend.errors import SignInError
from backend.server.accounts.accounts import Accounts
from backend.server.accounts.permissions import ANYBODY, Action, Requester, listed, refusal
from backend.server.accounts.secret_codes import hashed
from backend.server.accounts.tokens import PREFIX
from backend.server.hosting.task_registry import TaskRegistry
from backend.web.auth.cookies import read_cookie

_CACHE_KEY = "minga.identity"


async def require(connection: HTTPConnection, action: Action, task: str | None = None) -> Requester:
    """Returns the sender of a request or socket if they may do `action` (on `task`).

    Raises SignInError (401), ForbiddenError (403), or NotFoundError (404) for a task that does not exist or
    that the sender may not view.
    """
    identity = await identify(connection)
    registry: TaskRegistry = connection.app.state.tasks
    error = refusal(identity, action, None if task is None else registry.place(task))
    if error is not None:
        raise error
    return identity


def identity_text(connection: HTTPConnection, requester: Requester, task: str) -> str:
    """Returns the identity of this account or invited visitor of `task`; "" for others.

    An invitation for any number of people gives none: one person could use it any number of times.
    """
    if requester.account is not None:
        return f"account {requester.account}"
    visitor = read_cookie(connection, "minga_visitor")
    return f"invitation {hashed(visitor)[:16]}" if visitor and task in requester.limited else ""


async def require_again(connection: HTTPConnection, action: Action, task: str) -> None:
    """Like `require`, but identifies the sender again, for a connection that has been open for a while."""
    connection.scope.pop(_CACHE_KEY, None)
    await require(connection, action, task)


async def identify(connection: HTTPConnection) -> Requester:
    """Returns the sender, ANYBODY without credentials. Raises SignInError for an invalid token."""
    scope = connection.scope
    if _CACHE_KEY not in scope:
        scope[_CACHE_KEY] = await _resolve(connection)
    identity: Requester = scope[_CACHE_KEY]
    return identity


def account_name(connection: HTTPConnection) -> str:
    """Returns the name of the sender's account; "" without one, and before the sender was identified."""
    identity: Requester = connection.scope.get(_CACHE_KEY, ANYBODY)
    return identity.name


async def summaries_for(connection: HTTPConnection) -> list[dict[str, Any]]:
    """Returns summaries of the tasks that are listed for the sender (docs/reference/http.md)."""
    identity = await identify(connection)
    registry: TaskRegistry = connection.app.state.tasks
    return [summary for summary in registry.summaries() if listed(identity, registry.place(summary["name"]))]


async def _resolve(connection: HTTPConnection) -> Requester:
    access: Accounts = connection.app.state.access
    identity = await _account(connection, access)
    visitor = read_cookie(connection, "minga_visitor")
    if visitor is None:
        return identity
    admitted = await access.invitations.admitted(visitor)
    limited = frozenset(task for task, is_limited in admitted.items() if is_limited)
    return replace(identity, admitted=frozenset(admitted), limited=limited)


async def _account(connection: HTTPConnection, access: Accounts) -> Requester:
    scheme, _, token = connection.headers.get("authorization", "").partition(" ")
    if scheme:
        if scheme.lower() != "bearer" or not token.strip().startswith(PREFIX):
            raise SignInError(f"Send an API token as `Authorization: Bearer {PREFIX}...`.")
        return await access.identities.of_token(token.strip())
    session = read_cookie(connection, "minga_session")
    return ANYBODY if session is None else await access.identities.of_session(session)
