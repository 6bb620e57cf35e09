"""Reads numbers from the query of a URL."""

from __future__ import annotations

from typing import TypeVar

from starlette.requests import Request

from backend.errors import BadRequestError

Default = TypeVar("Default", int, None)


def number_asked(request: Request, name: str, default: Default) -> int | Default:
    """Returns the whole number of the query parameter `name`, else `default`. Raises BadRequestError."""
    text = request.query_params.get(name)
    if text is None:
        return default
    if not text.isdecimal() or len(text) > 9:
        raise BadRequestError(f"'{name}' is a whole number from 0; '{text[:20]}' is not.")
    return int(text)
