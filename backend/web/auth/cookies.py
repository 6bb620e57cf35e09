"""Reads and sets secret cookies: scripts cannot read them, and other sites' requests do not send them."""

from __future__ import annotations

from typing import Literal

from starlette.requests import HTTPConnection
from starlette.responses import Response

from backend.errors import ForbiddenError

LOOPBACK = ("localhost", "127.0.0.1", "::1")
Cookie = Literal["minga_session", "minga_visitor"]


def read_cookie(connection: HTTPConnection, name: Cookie) -> str | None:
    """Returns the cookie's value; None if it is absent."""
    return connection.cookies.get(_full_name(connection, name))


def set_cookie(request: HTTPConnection, response: Response, name: Cookie, value: str, seconds: float) -> None:
    """Sets the cookie to `value` for `seconds`."""
    response.set_cookie(
        _full_name(request, name),
        value,
        max_age=int(seconds),
        path="/",
        secure=_is_secure(request),
        httponly=True,
        samesite="lax",
    )


def drop_cookie(request: HTTPConnection, response: Response, name: Cookie) -> None:
    """Deletes the cookie."""
    response.delete_cookie(
        _full_name(request, name), path="/", secure=_is_secure(request), httponly=True, samesite="lax"
    )


def refuse_readable(connection: HTTPConnection) -> None:
    """Raises ForbiddenError when others in the network could read the session: plain HTTP, not loopback."""
    if not _is_secure(connection) and connection.url.hostname not in LOOPBACK:
        raise ForbiddenError(
            "Sign in over https, or on the server's own machine at http://localhost: over plain http others "
            "in the network could read your session. A proxy with https is named in MINGA_TRUSTED_PROXIES."
        )


def _is_secure(connection: HTTPConnection) -> bool:
    return connection.url.scheme in ("https", "wss")


def _full_name(connection: HTTPConnection, name: Cookie) -> str:
    # With this prefix, browsers reject the cookie from subdomains or without TLS (RFC 6265bis, 4.1.3.2).
    return f"__Host-{name}" if _is_secure(connection) else name
