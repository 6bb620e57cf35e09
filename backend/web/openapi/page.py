"""Flattens the OpenAPI document for its page: operations in order of their paths, types in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
    """A parameter of an operation, or a field of its body."""

    name: str
    place: str
    type: str
    required: bool
    text: str


@dataclass(frozen=True)
class Reply:
    """A response: its status in words, and the keys of its JSON or its content types."""

    status: int
    phrase: str
    holds: tuple[str, ...]
    refused: bool


@dataclass(frozen=True)
class ShownOperation:
    """One operation as the page shows it."""

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
        """The responses that refuse the request."""
        return [reply for reply in self.replies if reply.refused]


def sections(document: Mapping[str, Any]) -> dict[str, list[ShownOperation]]:
    """Returns the operations by the part of the API to which they belong."""
    operations: dict[str, list[ShownOperation]] = {name: [] for name in SECTIONS}
    schemas = document["components"]["schemas"]
    for path, methods in sorted(document["paths"].items()):
        for method, operation in methods.items():
            operations[operation["tags"][0]].append(_operation(method.upper(), path, operation, schemas))
    return operations


def refusals(operations: Iterable[ShownOperation]) -> list[tuple[int, str]]:
    """Returns the statuses with which these operations refuse a request, and their phrases, in order."""
    return sorted({(reply.status, reply.phrase) for one in operations for reply in one.refused})


def _operation(
    method: str, path: str, operation: Mapping[str, Any], schemas: Mapping[str, Schema]
) -> ShownOperation:
    content = operation.get("requestBody", {}).get("content", {})
    body = resolve(content.get(JSON, {}).get("schema", {}), schemas)
    required = set(body.get("required", ()))
    fields = [
        Value(name, "body", type_text(schema, schemas), name in required, "")
        for name, schema in body.get("properties", {}).items()
    ]
    parameters = [
        Value(
            parameter["name"],
            parameter["in"],
            type_text(parameter["schema"], schemas),
            parameter["required"],
            parameter.get("description", ""),
        )
        for parameter in operation["parameters"]
    ]
    return ShownOperation(
        id=operation["operationId"],
        method=method,
        path=path,
        summary=operation["summary"],
        note=operation.get("description", ""),
        who=operation["x-who"],
        takes=(*parameters, *fields),
        body=", ".join(content),
        replies=tuple(_reply(int(status), response) for status, response in operation["responses"].items()),
    )


def _reply(status: int, response: Mapping[str, Any]) -> Reply:
    content = response.get("content", {})
    keys = content.get(JSON, {}).get("schema", {}).get("required") or content
    return Reply(status, HTTPStatus(status).phrase, tuple(keys), "$ref" in str(content))


def resolve(schema: Schema, schemas: Mapping[str, Schema]) -> Schema:
    """Returns the schema that a reference names, or the schema itself."""
    return schemas[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


def type_text(schema: Schema, schemas: Mapping[str, Schema]) -> str:
    """Returns a schema in a few words: `integer, from 1, to 3650, or null`."""
    schema = resolve(schema, schemas)
    if "anyOf" in schema:
        return ", or ".join(type_text(option, schemas) for option in schema["anyOf"])
    if "enum" in schema:
        return " · ".join(str(value) for value in schema["enum"])
    kind = str(schema.get("type", "any"))
    if kind == "array" and schema.get("items"):
        kind = f"list of {type_text(schema['items'], schemas)}"
    return ", ".join([kind, *(text.format(schema[key]) for key, text in _LIMITS.items() if key in schema)])
