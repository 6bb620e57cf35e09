"""Cookies that hold a secret: never readable by scripts, never sent along from other sites."""

from __future__ import annotations

from typing import Literal

from starlette.requests import HTTPConnection
from starlette.responses import Response

from backend.errors import ForbiddenError

LOOPBACK = ("localhost", "127.0.0.1", "::1")
Cookie = Literal["minga_session", "minga_visitor"]


def read_cookie(connection: HTTPConnection, name: Cookie) -> str | None:
    """Its value; None without one."""
    return connection.cookies.get(_full(connection, name))


def set_cookie(request: HTTPConnection, response: Response, name: Cookie, value: str, seconds: float) -> None:
    """Has the browser keep `value` for so long."""
    response.set_cookie(
        _full(request, name),
        value,
        max_age=int(seconds),
        path="/",
        secure=_is_secure(request),
        httponly=True,
        samesite="lax",
    )


def drop_cookie(request: HTTPConnection, response: Response, name: Cookie) -> None:
    """Has the browser forget it."""
    response.delete_cookie(
        _full(request, name), path="/", secure=_is_secure(request), httponly=True, samesite="lax"
    )


def refuse_readable(connection: HTTPConnection) -> None:
    """Raises ForbiddenError where somebody else in the network could read a session on its way."""
    if not _is_secure(connection) and connection.url.hostname not in LOOPBACK:
        raise ForbiddenError(
            "Sign in over https, or on the server's own machine at http://localhost: over plain http others "
            "in the network could read your session. A proxy with https is named in MINGA_TRUSTED_PROXIES."
        )


def _is_secure(connection: HTTPConnection) -> bool:
    return connection.url.scheme in ("https", "wss")


def _full(connection: HTTPConnection, name: Cookie) -> str:
    # The prefix makes browsers refuse it from subdomains and without encryption (RFC 6265bis, 4.1.3.2).
    return f"__Host-{name}" if _is_secure(connection) else name
