"""Handles passwords and passkeys: sign-in, and an account's own (docs/reference/http.md)."""

from __future__ import annotations

import time
from typing import Annotated, Any

from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from backend.errors import NotFoundError, SignInError
from backend.server.accounts.passkeys import RelyingParty
from backend.server.accounts.passwords import MAX_LENGTH
from backend.server.accounts.secret_codes import hashed, id_of
from backend.stores.access import AccountRecord
from backend.web.auth.cookies import read_cookie, refuse_readable
from backend.web.auth.sign_in import Label, access_of, fresh, identified, person, signed_in, slow_down
from backend.web.pages.template_words import ENGLISH
from backend.web.requests.body import read_json
from backend.web.transport.authorized_sockets import connections_of

# Within this time after sign-in, a password can be set without the old one: the user may have used a link.
RECENT_SECONDS = 600.0

Password = Annotated[str, Meta(max_length=4 * MAX_LENGTH)]


def routes() -> list[BaseRoute]:
    """Returns the routes of sign-in by password or passkey, and of both credentials."""
    return [
        Route("/api/sign-in/password", by_password, methods=["POST"]),
        Route("/api/sign-in/passkey/options", passkey_wanted, methods=["POST"]),
        Route("/api/sign-in/passkey", by_passkey, methods=["POST"]),
        Route("/api/account/password", set_password, methods=["PUT"]),
        Route("/api/account/password", remove_password, methods=["DELETE"]),
        Route("/api/account/passkeys/options", new_passkey, methods=["POST"]),
        Route("/api/account/passkeys", add_passkey, methods=["POST"]),
        Route("/api/account/passkeys/{id}", remove_passkey, methods=["DELETE"]),
    ]


class NameAndPassword(Struct, forbid_unknown_fields=True):
    """With what somebody signs in."""

    name: Label
    password: Password


class NewPassword(Struct, forbid_unknown_fields=True):
    """A password that somebody sets, and the one before."""

    password: Password
    current: Password = ""


class Answered(Struct, forbid_unknown_fields=True):
    """What a browser's passkey answers (PublicKeyCredential.toJSON)."""

    credential: dict[str, Any]
    name: Annotated[str, Meta(max_length=64)] = ""


async def by_password(request: Request) -> Response:
    """Signs in by name and password."""
    slow_down(request)
    refuse_readable(request)
    return await signed_in(
        request, await account_by_password(request, await read_json(request, NameAndPassword))
    )


async def account_by_password(request: Request, told: NameAndPassword) -> AccountRecord:
    """Returns the account with this name and password. Raises SignInError, or TooFastError."""
    # Attackers may guess at one account from many addresses.
    request.app.state.attempts.count(f"account {told.name}")
    return await access_of(request).passwords.sign_in(told.name, told.password)


async def passkey_wanted(request: Request) -> Response:
    """What a browser needs to ask for a passkey."""
    slow_down(request)
    return fresh(access_of(request).passkeys.sign_in_options(_site(request)))


async def by_passkey(request: Request) -> Response:
    """Signs in by a passkey."""
    refuse_readable(request)
    body = await read_json(request, Answered)
    return await signed_in(
        request, await access_of(request).passkeys.sign_in(body.credential, _site(request))
    )


async def set_password(request: Request) -> Response:
    """Sets the account's password, and signs it out in other browsers."""
    account, body, access = await _account(request), await read_json(request, NewPassword), access_of(request)
    session = await access.sessions.find(read_cookie(request, "minga_session") or "")
    recent = session is not None and time.time() - session.created < RECENT_SECONDS
    if account.password is not None and not recent:
        request.app.state.attempts.count(f"account {account.name}")
        if not await access.passwords.holds(account.password, body.current):
            raise SignInError(
                "The current password is wrong. If you sign in again, you can set another without it."
            )
    await access.passwords.set(account.id, body.password)
    for other in await access.sessions.of(account.id):
        if session is None or other.secret != session.secret:
            await access.sessions.end(account.id, other.secret)
    await connections_of(request).recheck()
    return Response(status_code=204)


async def remove_password(request: Request) -> Response:
    """Takes the account's password away."""
    await access_of(request).passwords.remove(await person(request))
    return Response(status_code=204)


async def new_passkey(request: Request) -> Response:
    """What a browser needs to make a passkey."""
    account = await _account(request)
    return fresh(await access_of(request).passkeys.registration_options(account, _site(request)))


async def add_passkey(request: Request) -> Response:
    """Keeps a passkey that a browser made."""
    account, body = await person(request), await read_json(request, Answered)
    name = body.name or ENGLISH.browser(request.headers.get("user-agent", ""))
    await access_of(request).passkeys.add(account, name, body.credential, _site(request))
    return Response(status_code=204)


async def remove_passkey(request: Request) -> Response:
    """Forgets a passkey."""
    account, id, passkeys = await person(request), identified(request), access_of(request).passkeys
    for passkey in await passkeys.of(account):
        if id_of(hashed(passkey.id)) == id:
            await passkeys.remove(account, passkey.id)
            return Response(status_code=204)
    raise NotFoundError("You have no such passkey.")


async def _account(request: Request) -> AccountRecord:
    """Returns the account of the signed-in person. Raises SignInError."""
    account = await access_of(request).records.account(await person(request))
    if account is None:
        raise SignInError("This account is gone.")
    return account


def _site(request: Request) -> RelyingParty:
    return RelyingParty(f"{request.url.scheme}://{request.url.netloc}")
