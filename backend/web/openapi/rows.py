"""What a row of the table says of one operation; address and summary come from its route and handler."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import UnionType
from typing import Any, Literal, TypeAlias

from backend.server.accounts.permissions import Action

Schema: TypeAlias = dict[str, Any]
# `anybody` needs nothing, `session` a person who is signed in; an action, an account or token that may do it.
Who: TypeAlias = Action | Literal["anybody", "session"]

JSON, TEXT, BYTES = "application/json", "text/plain", "application/octet-stream"
ZIP = "application/zip"


# As `backend.web.requests.path_numbers` reads them in addresses.
NUMBER: Schema = {"type": "integer", "minimum": 0, "maximum": 10**18 - 1}
BINARY: Schema = {"type": "string", "format": "binary"}


@dataclass(frozen=True)
class BodyContent:
    """A body that is sent or answered: its types, and what it is like."""

    types: tuple[str, ...]
    schema: Schema = field(default_factory=dict)


@dataclass(frozen=True)
class Parameter:
    """What may stand in the query or head of a request."""

    name: str
    schema: Schema
    text: str
    place: Literal["query", "header"] = "query"
    required: bool = False


RANGE = Parameter("Range", {"type": "string"}, "The bytes that are wanted, as bytes=0-99.", "header")


@dataclass(frozen=True)
class Row:
    """One operation: who may, what it answers by status, the body that it takes, and what else it refuses.

    A `body` that is no Content is the type (or union) as which its JSON is decoded. `refusals` are statuses
    beside those that follow from the address, the body and `who`.
    """

    who: Who
    answers: Mapping[int, BodyContent | None]
    body: type | UnionType | BodyContent | None = None
    parameters: tuple[Parameter, ...] = ()
    refusals: tuple[int, ...] = ()
    paths: Mapping[str, Schema] = field(default_factory=dict)
    note: str = ""


def keys(*names: str) -> BodyContent:
    """A JSON object with these keys, at least."""
    return BodyContent(
        (JSON,), {"type": "object", "required": list(names), "properties": {name: {} for name in names}}
    )


def file(*types: str) -> BodyContent:
    """Bytes of one of these types."""
    return BodyContent(types, BINARY)


def number(name: str, text: str, *, required: bool = False) -> Parameter:
    """A whole number from 0 in the query."""
    return Parameter(name, {"type": "integer", "minimum": 0, "maximum": 999_999_999}, text, required=required)


def one_of(*words: str) -> Schema:
    """One of these words."""
    return {"type": "string", "enum": list(words)}


EMPTY: Mapping[int, BodyContent | None] = {204: None}
