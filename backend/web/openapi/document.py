"""The OpenAPI document: addresses from the routes, sentences from the handlers, the rest from the table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from http import HTTPStatus
from typing import Any

import msgspec
from starlette.routing import BaseRoute, Route, WebSocketRoute

from backend.web.openapi import owner_rows, self_rows, task_rows
from backend.web.openapi.rows import BINARY, JSON, NUMBER, BodyContent, Row, Schema

TABLE: Mapping[str, Row] = {**task_rows.ROWS, **owner_rows.ROWS, **self_rows.ROWS}
# For programs, though they lie elsewhere; everything else outside /api is a page.
ELSEWHERE = ("/blobs/{sha256}", "/healthz", "/readyz", "/metrics")

_HEX = "[0-9a-f]"
PATHS: Mapping[str, Schema] = {
    "name": {"type": "string", "pattern": "^[a-z0-9][a-z0-9-]{0,63}$"},
    "id": {"type": "string", "pattern": f"^{_HEX}{{16}}$"},
    "client": {"type": "string", "pattern": f"^{_HEX}{{16}}$"},
    "sha256": {"type": "string", "pattern": f"^{_HEX}{{64}}$"},
    "version": NUMBER,
    "number": NUMBER,
}
_ERROR: Schema = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message"],
            "properties": {
                "code": {"type": "string"},
                "message": {"type": "string", "description": "A sentence that says what to do."},
            },
        }
    },
}
_REF = "#/components/schemas/{name}"


def documented(routes: Iterable[BaseRoute]) -> Iterator[tuple[str, Route]]:
    """Every operation for programs, as METHOD ADDRESS, with its route."""
    for route in routes:
        if isinstance(route, Route) and (route.path.startswith("/api/") or route.path in ELSEWHERE):
            methods = route.methods or set()
            # Starlette answers HEAD wherever it answers GET.
            for method in sorted(methods - {"HEAD"} if "GET" in methods else methods):
                yield f"{method} {address(route.path)}", route


def address(path: str) -> str:
    """A route's path without the types of its parameters."""
    return re.sub(r":\w+\}", "}", path)


def openapi(routes: Iterable[BaseRoute], version: str) -> dict[str, Any]:
    """The document, OpenAPI 3.1, for all `routes` for programs. Raises KeyError for one without a row."""
    routes = list(routes)
    bodies = {name: row.body for name, row in TABLE.items() if not isinstance(row.body, BodyContent | None)}
    refs, components = msgspec.json.schema_components(bodies.values(), ref_template=_REF)
    schemas = dict(zip(bodies, refs, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for operation, route in documented(routes):
        method, path = operation.split(" ")
        paths.setdefault(path, {})[method.lower()] = _operation(operation, route, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Minga",
            "version": version,
            "description": "Everything that the pages of a Minga server do, for programs.",
        },
        "paths": paths,
        "components": {
            "schemas": {**_portable(components), "Error": _ERROR},
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "An API token made on /account.",
                },
                "session": {"type": "apiKey", "in": "cookie", "name": "minga_session"},
            },
        },
        "x-sockets": [
            {"path": address(route.path), "summary": _sentence(route)}
            for route in routes
            if isinstance(route, WebSocketRoute)
        ],
    }


def _portable(schema: Any) -> Any:
    """The same with patterns that other languages read: Python alone writes the end of a text as \\Z."""
    if isinstance(schema, dict):
        return {
            key: re.sub(r"\\Z$", "$", value) if key == "pattern" else _portable(value)
            for key, value in schema.items()
        }
    return [_portable(one) for one in schema] if isinstance(schema, list) else schema


def tag_of(path: str) -> str:
    """The part of the API to which an address belongs."""
    parts = path.split("/")
    if len(parts) > 2 and parts[2] in ("tasks", "drafts"):
        return parts[2]
    if path.startswith(("/api/account", "/api/sign-")):
        return "account"
    return "server"


def _operation(operation: str, route: Route, schemas: Mapping[str, Schema]) -> dict[str, Any]:
    method, path = operation.split(" ")
    row = TABLE[operation]
    told: dict[str, Any] = {
        "tags": [tag_of(path)],
        "operationId": re.sub(r"\W+", "-", operation.lower()).strip("-"),
        "summary": _sentence(route),
        "parameters": _parameters(row, path),
        "responses": _responses(row, method, path),
        "security": _security(row),
        "x-who": row.who,
    }
    if row.note:
        told["description"] = row.note
    if row.body is not None:
        content = row.body if isinstance(row.body, BodyContent) else BodyContent((JSON,), schemas[operation])
        told["requestBody"] = {"required": True, "content": _content(content)}
    return told


def _sentence(route: Route | WebSocketRoute) -> str:
    text = (route.endpoint.__doc__ or "").strip().splitlines()
    return text[0] if text else ""


def _parameters(row: Row, path: str) -> list[dict[str, Any]]:
    inside = [
        {"name": name, "in": "path", "required": True, "schema": row.paths.get(name) or PATHS[name]}
        for name in re.findall(r"\{(\w+)\}", path)
    ]
    asked = [
        {
            "name": one.name,
            "in": one.place,
            "required": one.required,
            "description": one.text,
            "schema": one.schema,
        }
        for one in row.parameters
    ]
    return inside + asked


def _responses(row: Row, method: str, path: str) -> dict[str, Any]:
    answers: dict[int, dict[str, Any]] = {
        status: _refused(status, method) for status in refusals(row, method, path)
    }
    for status, content in row.answers.items():
        answers[status] = {"description": HTTPStatus(status).phrase}
        if content is not None:
            answers[status]["content"] = _content(content)
    return {str(status): answers[status] for status in sorted(answers)}


def refusals(row: Row, method: str, path: str) -> set[int]:
    """Statuses of all refusals: the row's own, and those that follow from address, body and who may."""
    found = set(row.refusals)
    if method not in ("GET", "HEAD"):
        found.add(403)  # Pages of other sites change nothing.
    if row.body is not None:
        found |= {400, 413}
    if row.parameters:
        found.add(400)
    if row.who != "anybody":
        found |= {401, 403}
    if re.match(r"/api/(tasks|drafts)/\{", path):
        found |= {401, 404}
    return found


def _refused(status: int, method: str) -> dict[str, Any]:
    told: dict[str, Any] = {"description": HTTPStatus(status).phrase}
    if method != "HEAD":
        told["content"] = {JSON: {"schema": {"$ref": _REF.format(name="Error")}}}
    return told


def _content(content: BodyContent) -> dict[str, Any]:
    # Among files, JSON is one of any shape.
    loose = content.schema is BINARY
    return {kind: {"schema": {} if loose and kind == JSON else content.schema} for kind in content.types}


def _security(row: Row) -> list[dict[str, list[str]]]:
    match row.who:
        case "anybody":
            return [{}]
        case "session":
            return [{"session": []}]
        case "view" | "join":
            return [{}, {"token": []}, {"session": []}]
        case _:
            return [{"token": []}, {"session": []}]
