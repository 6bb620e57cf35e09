"""Turns errors into responses: JSON for programs, a page for people, never a stack trace."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ExceptionHandler

from backend.errors import MingaError
from backend.translation import later
from backend.web.pages import pages

# The headings of error pages; other statuses have their phrase in English.
TITLES = {
    400: later("Bad request"),
    401: later("Please sign in"),
    403: later("Not allowed"),
    404: later("Not found"),
    405: later("Method not allowed"),
    409: later("Conflict"),
    410: later("Gone"),
    413: later("Too large"),
    422: later("Cannot be processed"),
    429: later("Too many requests"),
    500: later("Server error"),
    503: later("Not available now"),
}
NOTHING_HERE = later("There is nothing at this address. The gallery lists all tasks.")
UNEXPECTED = later("Something went wrong on the server. Try again in a minute.")


def handlers() -> Mapping[type[Exception], ExceptionHandler]:
    """Returns Starlette's exception handlers."""
    return {MingaError: _minga_error, HTTPException: _http_error, Exception: _unexpected_error}


def refusal(request: Request, error: MingaError) -> Response:
    """Returns the response for `error`, which also ends the connection."""
    return _error_response(request, error.http_status, error.code, str(error), {"Connection": "close"})


def _minga_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, MingaError)  # noqa: S101 - Starlette looks handlers up by type.
    return _error_response(request, error.http_status, error.code, str(error), {})


def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - Starlette looks handlers up by type.
    phrase = HTTPStatus(error.status_code).phrase
    code = phrase.lower().replace(" ", "-")
    message = NOTHING_HERE if error.status_code == HTTPStatus.NOT_FOUND else f"{phrase}."
    return _error_response(request, error.status_code, code, message, error.headers or {})


def _unexpected_error(request: Request, _error: Exception) -> Response:
    return _error_response(request, 500, "error", UNEXPECTED, {})


def _error_response(
    request: Request, status: int, code: str, message: str, headers: Mapping[str, str]
) -> Response:
    if _wants_html(request):
        context = {
            "status": status,
            "title": TITLES.get(status, HTTPStatus(status).phrase),
            "message": message,
            "translated": message in (NOTHING_HERE, UNEXPECTED),
        }
        page = pages.render(request, "pages/error.html", context, status)
        page.headers.update(headers)
        return page
    return JSONResponse({"error": {"code": code, "message": message}}, status, headers)


def _wants_html(request: Request) -> bool:
    path = request.url.path
    return "text/html" in request.headers.get("accept", "") and not path.startswith(("/api/", "/blobs/"))
