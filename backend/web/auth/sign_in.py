"""Signing in and out, and what belongs to an account (docs/reference/http.md)."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from backend.errors import BadRequestError, NotFoundError, SignInError
from backend.server.accounts.accounts import Accounts
from backend.server.accounts.permissions import Requester
from backend.server.accounts.secret_codes import hashed, id_of
from backend.server.accounts.sessions import SESSION_SECONDS
from backend.server.accounts.sign_in_attempts import Attempts
from backend.stores.access import AccountRecord
from backend.web.auth.cookies import drop_cookie, read_cookie, refuse_readable, set_cookie
from backend.web.auth.identity import identify, require
from backend.web.requests.body import read_json
from backend.web.transport.authorized_sockets import connections_of
from backend.web.transport.client_address import UNKNOWN, household, read_address

Code = Annotated[str, Meta(min_length=16, max_length=64)]
Label = Annotated[str, Meta(min_length=1, max_length=64)]


def routes() -> list[BaseRoute]:
    """Signing in and out, sessions and API tokens."""
    return [
        Route("/api/account", account),
        Route("/api/sign-in/link/look", look, methods=["POST"]),
        Route("/api/sign-in/link", open_link, methods=["POST"]),
        Route("/api/sign-out", sign_out, methods=["POST"]),
        Route("/api/account/sessions", end_sessions, methods=["DELETE"]),
        Route("/api/account/sessions/{id}", end_session, methods=["DELETE"]),
        Route("/api/account/tokens", make_token, methods=["POST"]),
        Route("/api/account/tokens/{id}", revoke_token, methods=["DELETE"]),
        Route("/api/account/links", invite, methods=["POST"]),
    ]


class LinkCode(Struct, forbid_unknown_fields=True):
    """The code of a link, as it stands behind the # of its address."""

    code: Code
    name: Annotated[str, Meta(max_length=64)] = ""


class NewToken(Struct, forbid_unknown_fields=True):
    """An API token that somebody asks for."""

    name: Label
    scopes: list[str]
    task: Annotated[str, Meta(max_length=64)] | None = None
    days: Annotated[int, Meta(ge=1, le=3650)] | None = None


class NewLink(Struct, forbid_unknown_fields=True):
    """A link for somebody else: to a new account, or for one who lost all keys (`account`, by name)."""

    operator: bool = False
    account: Label | None = None


async def account(request: Request) -> Response:
    """Who is signed in, and what belongs to them."""
    identity = await identify(request)
    if identity.account is None:
        return fresh({"account": None})
    return fresh(await account_summary(request, identity))


async def account_summary(request: Request, identity: Requester) -> dict[str, Any]:
    """What is told to somebody of their account. It has no secret in it."""
    assert identity.account is not None  # noqa: S101 - the callers looked.
    access, cookie = access_of(request), read_cookie(request, "minga_session")
    here = None if cookie is None else hashed(cookie)
    mine = await access.records.account(identity.account)
    return {
        "account": {"name": identity.name, "operator": identity.operator, "roles": dict(identity.roles)},
        "password": mine is not None and mine.password is not None,
        "passkeys": [
            {"id": id_of(hashed(one.id)), "name": one.name, "created": one.created, "used": one.used}
            for one in await access.passkeys.of(identity.account)
        ],
        "sessions": [
            {
                "id": id_of(one.secret),
                "agent": one.agent,
                "created": one.created,
                "seen": one.seen,
                "here": one.secret == here,
            }
            for one in await access.sessions.of(identity.account)
        ],
        "tokens": [
            {
                "id": id_of(one.secret),
                "name": one.name,
                "scopes": one.scopes,
                "task": one.task,
                "created": one.created,
                "used": one.used,
                "expires": one.expires,
            }
            for one in await access.tokens.of(identity.account)
        ],
    }


async def look(request: Request) -> Response:
    """Whose account a link leads into."""
    slow_down(request)
    body = await read_json(request, LinkCode)
    found = await access_of(request).links.look(body.code)
    return fresh({"account": None if found is None else found.name})


async def open_link(request: Request) -> Response:
    """Signs in by a link, which is used up."""
    slow_down(request)
    refuse_readable(request)
    body = await read_json(request, LinkCode)
    return await signed_in(request, await access_of(request).links.open(body.code, body.name))


async def signed_in(request: Request, account: AccountRecord) -> Response:
    """The answer with which `account` is signed in, in the browser that asked."""
    code = await access_of(request).sessions.begin(account.id, request.headers.get("user-agent", ""))
    response = fresh({"account": account.name})
    set_cookie(request, response, "minga_session", code, SESSION_SECONDS)
    return response


async def sign_out(request: Request) -> Response:
    """Ends the session of the browser that asks."""
    identity, code = await identify(request), read_cookie(request, "minga_session")
    if identity.account is not None and code is not None:
        await access_of(request).sessions.end(identity.account, hashed(code))
        await connections_of(request).look()
    response = Response(status_code=204)
    drop_cookie(request, response, "minga_session")
    return response


async def end_sessions(request: Request) -> Response:
    """Signs an account out everywhere."""
    await access_of(request).sessions.end(await person(request))
    await connections_of(request).look()
    response = Response(status_code=204)
    drop_cookie(request, response, "minga_session")
    return response


async def end_session(request: Request) -> Response:
    """Signs an account out in one browser."""
    ended = await access_of(request).sessions.end(await person(request), identified(request))
    await connections_of(request).look()
    return _gone(ended > 0, "session")


async def make_token(request: Request) -> Response:
    """An API token, which is shown this once."""
    mine = await person(request)
    body = await read_json(request, NewToken)
    token = await access_of(request).tokens.make(mine, body.name, body.scopes, body.task, body.days)
    return fresh({"token": token, "id": id_of(hashed(token))}, 201)


async def revoke_token(request: Request) -> Response:
    """Ends an API token."""
    revoked = await access_of(request).tokens.revoke(await person(request), identified(request))
    await connections_of(request).look()
    return _gone(revoked, "token")


async def invite(request: Request) -> Response:
    """A link for a new owner, a new operator, or one who lost all keys."""
    await require(request, "administer")
    await person(request)
    access, body = access_of(request), await read_json(request, NewLink)
    target = None
    if body.account is not None:
        target = await access.records.account_named(body.account)
        if target is None:
            raise NotFoundError(f"Nobody is called '{body.account}' here.")
    code = await access.links.make(body.operator, None if target is None else target.id)
    return fresh({"code": code, "path": f"/sign-in#{code}"}, 201)


async def person(request: Request) -> str:
    """The account of somebody who is signed in. Raises SignInError, for programs with a token too.

    A stolen token must not make others, nor end the sessions of whom it was stolen from.
    """
    identity = await identify(request)
    if identity.account is None or identity.scopes is not None:
        raise SignInError("Sign in on the page /sign-in first; an API token does not do for this.")
    return identity.account


def identified(request: Request) -> str:
    """The id in an address. Raises BadRequestError where it could name several things."""
    id: str = request.path_params["id"]
    if len(id) != 16 or not set(id) <= set("0123456789abcdef"):
        raise BadRequestError("An id has 16 hexadecimal digits.")
    return id


def access_of(request: Request) -> Accounts:
    """The server's."""
    access: Accounts = request.app.state.access
    return access


def slow_down(request: Request) -> None:
    """Raises TooFastError for a network address that tries to sign in too often."""
    attempts: Attempts = request.app.state.attempts
    attempts.count(household((request.client and read_address(request.client.host)) or UNKNOWN))


def _gone(found: bool, what: str) -> Response:
    if not found:
        raise NotFoundError(f"You have no such {what} (any more).")
    return Response(status_code=204)


def fresh(content: dict[str, Any], status: int = 200) -> Response:
    return JSONResponse(content, status, headers={"Cache-Control": "no-store"})
