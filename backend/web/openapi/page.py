"""The document as its page shows it: flat, in the order of the addresses, types in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from backend.web.openapi.rows import JSON, Schema

SECTIONS = ("tasks", "drafts", "account", "server")
_LIMITS = {
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minimum": "from {}",
    "maximum": "to {}",
    "pattern": "like {}",
}


@dataclass(frozen=True)
class Value:
    """A parameter or a field of a body."""

    name: str
    place: str
    type: str
    required: bool
    text: str


@dataclass(frozen=True)
class Reply:
    """An answer: its status in words, and the keys of its JSON or else its types."""

    status: int
    phrase: str
    holds: tuple[str, ...]
    refused: bool


@dataclass(frozen=True)
class ShownOperation:
    """One operation."""

    id: str
    method: str
    path: str
    summary: str
    note: str
    who: str
    takes: tuple[Value, ...]
    body: str
    replies: tuple[Reply, ...]

    @property
    def refused(self) -> list[Reply]:
        """The answers that say why not."""
        return [one for one in self.replies if one.refused]


def sections(document: Mapping[str, Any]) -> dict[str, list[ShownOperation]]:
    """Operations by the part of the API to which they belong."""
    found: dict[str, list[ShownOperation]] = {name: [] for name in SECTIONS}
    schemas = document["components"]["schemas"]
    for path, methods in sorted(document["paths"].items()):
        for method, told in methods.items():
            found[told["tags"][0]].append(_shown(method.upper(), path, told, schemas))
    return found


def _shown(method: str, path: str, told: Mapping[str, Any], schemas: Mapping[str, Schema]) -> ShownOperation:
    content = told.get("requestBody", {}).get("content", {})
    body = resolved(content.get(JSON, {}).get("schema", {}), schemas)
    needed = set(body.get("required", ()))
    fields = [
        Value(name, "body", words(schema, schemas), name in needed, "")
        for name, schema in body.get("properties", {}).items()
    ]
    asked = [
        Value(
            one["name"], one["in"], words(one["schema"], schemas), one["required"], one.get("description", "")
        )
        for one in told["parameters"]
    ]
    return ShownOperation(
        id=told["operationId"],
        method=method,
        path=path,
        summary=told["summary"],
        note=told.get("description", ""),
        who=told["x-who"],
        takes=(*asked, *fields),
        body=", ".join(content),
        replies=tuple(_reply(int(status), one) for status, one in told["responses"].items()),
    )


def _reply(status: int, answer: Mapping[str, Any]) -> Reply:
    content = answer.get("content", {})
    held = content.get(JSON, {}).get("schema", {}).get("required") or content
    return Reply(status, HTTPStatus(status).phrase, tuple(held), "$ref" in str(content))


def resolved(schema: Schema, schemas: Mapping[str, Schema]) -> Schema:
    """What a reference leads to; else the schema itself."""
    return schemas[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


def words(schema: Schema, schemas: Mapping[str, Schema]) -> str:
    """A schema in few words: `integer, from 1, to 3650, or null`."""
    schema = resolved(schema, schemas)
    if "anyOf" in schema:
        return ", or ".join(words(one, schemas) for one in schema["anyOf"])
    if "enum" in schema:
        return " · ".join(str(one) for one in schema["enum"])
    kind = str(schema.get("type", "any"))
    if kind == "array" and schema.get("items"):
        kind = f"list of {words(schema['items'], schemas)}"
    return ", ".join([kind, *(text.format(schema[key]) for key, text in _LIMITS.items() if key in schema)])
