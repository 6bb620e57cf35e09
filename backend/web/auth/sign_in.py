"""Handles sign-in by link, sign-out, sessions and API tokens (docs/reference/http.md)."""

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
    """Returns the routes of sign-in by link, sign-out, sessions and API tokens."""
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
    """The code of a link, from behind the # of its address."""

    code: Code
    name: Annotated[str, Meta(max_length=64)] = ""


class NewToken(Struct, forbid_unknown_fields=True):
    """An API token that somebody asks for."""

    name: Label
    scopes: list[str]
    task: Annotated[str, Meta(max_length=64)] | None = None
    days: Annotated[int, Meta(ge=1, le=3650)] | None = None


class NewLink(Struct, forbid_unknown_fields=True):
    """A link for another person: to a new account, or for an `account` that lost all keys."""

    operator: bool = False
    account: Label | None = None


async def account(request: Request) -> Response:
    """Who is signed in, and what belongs to them."""
    identity = await identify(request)
    if identity.account is None:
        return fresh({"account": None})
    return fresh(await account_summary(request, identity))


async def account_summary(request: Request, identity: Requester) -> dict[str, Any]:
    """Returns an account's data for its owner, without secrets."""
    assert identity.account is not None  # noqa: S101 - the callers checked.
    access, cookie = access_of(request), read_cookie(request, "minga_session")
    current = None if cookie is None else hashed(cookie)
    account = await access.records.account(identity.account)
    return {
        "account": {"name": identity.name, "operator": identity.operator, "roles": dict(identity.roles)},
        "password": account is not None and account.password is not None,
        "passkeys": [
            {
                "id": id_of(hashed(passkey.id)),
                "name": passkey.name,
                "created": passkey.created,
                "used": passkey.used,
            }
            for passkey in await access.passkeys.of(identity.account)
        ],
        "sessions": [
            {
                "id": id_of(session.secret),
                "agent": session.agent,
                "created": session.created,
                "seen": session.seen,
                "here": session.secret == current,
            }
            for session in await access.sessions.of(identity.account)
        ],
        "tokens": [
            {
                "id": id_of(token.secret),
                "name": token.name,
                "scopes": token.scopes,
                "task": token.task,
                "created": token.created,
                "used": token.used,
                "expires": token.expires,
            }
            for token in await access.tokens.of(identity.account)
        ],
    }


async def look(request: Request) -> Response:
    """Whose account a link leads into."""
    slow_down(request)
    body = await read_json(request, LinkCode)
    account = await access_of(request).links.look(body.code)
    return fresh({"account": None if account is None else account.name})


async def open_link(request: Request) -> Response:
    """Signs in by a link, which is used up."""
    slow_down(request)
    refuse_readable(request)
    return await signed_in(request, await account_by_link(request, await read_json(request, LinkCode)))


async def account_by_link(request: Request, link: LinkCode) -> AccountRecord:
    """Returns the account into which a link leads, a new one for a new person, and uses the link up."""
    return await access_of(request).links.open(link.code, link.name)


async def signed_in(request: Request, account: AccountRecord) -> Response:
    """Starts a session of `account` in the requesting browser and returns the response with its cookie."""
    response = fresh({"account": account.name})
    await begin_session(request, account, response)
    return response


async def begin_session(request: Request, account: AccountRecord, response: Response) -> None:
    """Starts a session of `account` in the requesting browser, which gets its cookie with `response`."""
    code = await access_of(request).sessions.begin(account.id, request.headers.get("user-agent", ""))
    set_cookie(request, response, "minga_session", code, SESSION_SECONDS)


async def sign_out(request: Request) -> Response:
    """Ends the session of the browser that asks."""
    identity, code = await identify(request), read_cookie(request, "minga_session")
    if identity.account is not None and code is not None:
        await access_of(request).sessions.end(identity.account, hashed(code))
        await connections_of(request).recheck()
    response = Response(status_code=204)
    drop_cookie(request, response, "minga_session")
    return response


async def end_sessions(request: Request) -> Response:
    """Signs an account out everywhere."""
    await access_of(request).sessions.end(await person(request))
    await connections_of(request).recheck()
    response = Response(status_code=204)
    drop_cookie(request, response, "minga_session")
    return response


async def end_session(request: Request) -> Response:
    """Signs an account out in one browser."""
    ended = await access_of(request).sessions.end(await person(request), identified(request))
    await connections_of(request).recheck()
    return _removed(ended > 0, "session")


async def make_token(request: Request) -> Response:
    """An API token, which is shown this once."""
    owner = await person(request)
    body = await read_json(request, NewToken)
    token = await access_of(request).tokens.make(owner, body.name, body.scopes, body.task, body.days)
    return fresh({"token": token, "id": id_of(hashed(token))}, 201)


async def revoke_token(request: Request) -> Response:
    """Ends an API token."""
    revoked = await access_of(request).tokens.revoke(await person(request), identified(request))
    await connections_of(request).recheck()
    return _removed(revoked, "token")


async def invite(request: Request) -> Response:
    """A link for a new owner, a new operator, or an account that lost all keys."""
    await require(request, "administer")
    await person(request)
    access, body = access_of(request), await read_json(request, NewLink)
    target = None
    if body.account is not None:
        target = await access.records.account_named(body.account)
        if target is None:
            raise NotFoundError(f"There is no account '{body.account}' here.")
    code = await access.links.make(body.operator, None if target is None else target.id)
    return fresh({"code": code, "path": f"/sign-in#{code}"}, 201)


async def person(request: Request) -> str:
    """Returns the account of a signed-in person. Raises SignInError, also for requests with an API token.

    A stolen token must not create more tokens, nor end its owner's sessions.
    """
    identity = await identify(request)
    if identity.account is None or identity.scopes is not None:
        raise SignInError("Sign in on the page /sign-in first; an API token is not enough for this.")
    return identity.account


def identified(request: Request) -> str:
    """Returns the id in the URL. Raises BadRequestError unless it is complete and names one record."""
    id: str = request.path_params["id"]
    if len(id) != 16 or not set(id) <= set("0123456789abcdef"):
        raise BadRequestError("An id has 16 hexadecimal digits.")
    return id


def access_of(request: Request) -> Accounts:
    """Returns the server's Accounts."""
    access: Accounts = request.app.state.access
    return access


def slow_down(request: Request) -> None:
    """Counts a sign-in attempt. Raises TooFastError if its network address makes too many."""
    attempts: Attempts = request.app.state.attempts
    attempts.count(household((request.client and read_address(request.client.host)) or UNKNOWN))


def _removed(account: bool, what: str) -> Response:
    if not account:
        raise NotFoundError(f"You have no such {what}.")
    return Response(status_code=204)


def fresh(content: dict[str, Any], status: int = 200) -> Response:
    return JSONResponse(content, status, headers={"Cache-Control": "no-store"})
