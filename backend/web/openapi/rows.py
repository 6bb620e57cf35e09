"""Defines a table row of one operation; its path and summary come from the route and handler."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import UnionType
from typing import Any, Literal, TypeAlias

from backend.server.accounts.permissions import Action

Schema: TypeAlias = dict[str, Any]
# `anybody` needs nothing, `session` a signed-in person; an action needs an account or token that may do it.
Who: TypeAlias = Action | Literal["anybody", "session"]

JSON, TEXT, BYTES = "application/json", "text/plain", "application/octet-stream"
ZIP = "application/zip"


# The numbers that `backend.web.requests.path_numbers` accepts in paths.
NUMBER: Schema = {"type": "integer", "minimum": 0, "maximum": 10**18 - 1}
BINARY: Schema = {"type": "string", "format": "binary"}


@dataclass(frozen=True)
class BodyContent:
    """The body of a request or response: its content types and schema."""

    types: tuple[str, ...]
    schema: Schema = field(default_factory=dict)


@dataclass(frozen=True)
class Parameter:
    """A parameter in the query or head of a request."""

    name: str
    schema: Schema
    text: str
    place: Literal["query", "header"] = "query"
    required: bool = False


RANGE = Parameter("Range", {"type": "string"}, "The bytes that are wanted, as bytes=0-99.", "header")


@dataclass(frozen=True)
class Row:
    """One operation: who may call it, its responses by status, its body, and its refusals.

    A `body` that is not a BodyContent is the type (or union) as which its JSON is decoded. `refusals` are
    statuses in addition to those implied by the path, the body and `who`.
    """

    who: Who
    answers: Mapping[int, BodyContent | None]
    body: type | UnionType | BodyContent | None = None
    parameters: tuple[Parameter, ...] = ()
    refusals: tuple[int, ...] = ()
    paths: Mapping[str, Schema] = field(default_factory=dict)
    note: str = ""


def keys(*names: str) -> BodyContent:
    """Returns the content of a JSON object with at least these keys."""
    return BodyContent(
        (JSON,), {"type": "object", "required": list(names), "properties": {name: {} for name in names}}
    )


def file(*types: str) -> BodyContent:
    """Returns the content of bytes of one of these types."""
    return BodyContent(types, BINARY)


def number(name: str, text: str, *, required: bool = False) -> Parameter:
    """Returns a query parameter that is a whole number from 0."""
    return Parameter(name, {"type": "integer", "minimum": 0, "maximum": 999_999_999}, text, required=required)


def one_of(*values: str) -> Schema:
    """Returns the schema of a string that is one of these values."""
    return {"type": "string", "enum": list(values)}


EMPTY: Mapping[int, BodyContent | None] = {204: None}
