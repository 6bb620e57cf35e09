"""What stands behind the question mark of an address."""

from __future__ import annotations

from typing import TypeVar

from starlette.requests import Request

from backend.errors import BadRequestError

Usual = TypeVar("Usual", int, None)


def number_asked(request: Request, name: str, usual: Usual) -> int | Usual:
    """The whole number that is asked for as `name`, or else the `usual` one. Raises BadRequestError."""
    text = request.query_params.get(name)
    if text is None:
        return usual
    if not text.isdecimal() or len(text) > 9:
        raise BadRequestError(f"'{name}' is a whole number from 0; '{text[:20]}' is not.")
    return int(text)
