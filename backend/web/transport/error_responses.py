"""Turns errors into responses: JSON for programs, a page for people, never a stack trace."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ExceptionHandler

from backend.errors import MingaError
from backend.web.pages import pages


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
    texts = {404: "There is nothing at this address. The gallery lists all tasks."}
    return _error_response(
        request, error.status_code, code, texts.get(error.status_code, f"{phrase}."), error.headers or {}
    )


def _unexpected_error(request: Request, _error: Exception) -> Response:
    return _error_response(
        request, 500, "error", "Something went wrong on the server. Try again in a minute.", {}
    )


def _error_response(
    request: Request, status: int, code: str, message: str, headers: Mapping[str, str]
) -> Response:
    if _wants_html(request):
        context = {"status": status, "title": HTTPStatus(status).phrase, "message": message}
        page = pages.render(request, "error.html", context, status)
        page.headers.update(headers)
        return page
    return JSONResponse({"error": {"code": code, "message": message}}, status, headers)


def _wants_html(request: Request) -> bool:
    path = request.url.path
    return "text/html" in request.headers.get("accept", "") and not path.startswith(("/api/", "/blobs/"))
