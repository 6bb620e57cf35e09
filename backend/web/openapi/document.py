"""Builds the OpenAPI document from the routes (paths), handlers (summaries) and the table (the rest)."""

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
# Paths for programs outside /api; all others outside /api are pages.
OUTSIDE_API = ("/blobs/{sha256}", "/healthz", "/readyz", "/metrics")

_HEX = "[0-9a-f]"
PATHS: Mapping[str, Schema] = {
    "name": {"type": "string", "pattern": "^[a-z0-9][a-z0-9-]{0,63}$"},
    "id": {"type": "string", "pattern": f"^{_HEX}{{16}}$"},
    "client": {"type": "string", "pattern": f"^{_HEX}{{16}}$"},
    "upload": {"type": "string", "pattern": f"^{_HEX}{{16}}$"},
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
    """Yields every operation for programs as "METHOD PATH", with its route."""
    for route in routes:
        if isinstance(route, Route) and (route.path.startswith("/api/") or route.path in OUTSIDE_API):
            methods = route.methods or set()
            # Starlette answers HEAD wherever it answers GET.
            for method in sorted(methods - {"HEAD"} if "GET" in methods else methods):
                yield f"{method} {address(route.path)}", route


def address(path: str) -> str:
    """Returns a route's path without the types of its parameters."""
    return re.sub(r":\w+\}", "}", path)


def openapi(routes: Iterable[BaseRoute], version: str) -> dict[str, Any]:
    """Builds the OpenAPI 3.1 document of all `routes` for programs. Raises KeyError for one without a row."""
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
            "schemas": {**_portable_patterns(components), "Error": _ERROR},
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
            {"path": address(route.path), "summary": _summary(route)}
            for route in routes
            if isinstance(route, WebSocketRoute)
        ],
    }


def _portable_patterns(schema: Any) -> Any:
    """Returns the schema with portable patterns: only Python writes the end of a text as \\Z."""
    if isinstance(schema, dict):
        return {
            key: re.sub(r"\\Z$", "$", value) if key == "pattern" else _portable_patterns(value)
            for key, value in schema.items()
        }
    return [_portable_patterns(item) for item in schema] if isinstance(schema, list) else schema


def tag_of(path: str) -> str:
    """Returns the part of the API to which a path belongs."""
    parts = path.split("/")
    if len(parts) > 2 and parts[2] in ("tasks", "drafts"):
        return parts[2]
    if path.startswith(("/api/account", "/api/sign-")):
        return "account"
    return "server"


def _operation(operation: str, route: Route, schemas: Mapping[str, Schema]) -> dict[str, Any]:
    method, path = operation.split(" ")
    row = TABLE[operation]
    operation_object: dict[str, Any] = {
        "tags": [tag_of(path)],
        "operationId": re.sub(r"\W+", "-", operation.lower()).strip("-"),
        "summary": _summary(route),
        "parameters": _parameters(row, path),
        "responses": _responses(row, method, path),
        "security": _security(row),
        "x-who": row.who,
    }
    if row.note:
        operation_object["description"] = row.note
    if row.body is not None:
        content = row.body if isinstance(row.body, BodyContent) else BodyContent((JSON,), schemas[operation])
        operation_object["requestBody"] = {"required": True, "content": _content(content)}
    return operation_object


def _summary(route: Route | WebSocketRoute) -> str:
    text = (route.endpoint.__doc__ or "").strip().splitlines()
    return text[0] if text else ""


def _parameters(row: Row, path: str) -> list[dict[str, Any]]:
    path_parameters = [
        {"name": name, "in": "path", "required": True, "schema": row.paths.get(name) or PATHS[name]}
        for name in re.findall(r"\{(\w+)\}", path)
    ]
    other_parameters = [
        {
            "name": parameter.name,
            "in": parameter.place,
            "required": parameter.required,
            "description": parameter.text,
            "schema": parameter.schema,
        }
        for parameter in row.parameters
    ]
    return path_parameters + other_parameters


def _responses(row: Row, method: str, path: str) -> dict[str, Any]:
    answers: dict[int, dict[str, Any]] = {
        status: _refusal_response(status, method) for status in refusals(row, method, path)
    }
    for status, content in row.answers.items():
        answers[status] = {"description": HTTPStatus(status).phrase}
        if content is not None:
            answers[status]["content"] = _content(content)
    return {str(status): answers[status] for status in sorted(answers)}


def refusals(row: Row, method: str, path: str) -> set[int]:
    """Returns the statuses of all refusals: the row's own, and those implied by path, body and `who`."""
    statuses = set(row.refusals)
    if method not in ("GET", "HEAD"):
        statuses.add(403)  # For pages of other sites.
    if row.body is not None:
        statuses |= {400, 413}
    if row.parameters:
        statuses.add(400)
    if row.who != "anybody":
        statuses |= {401, 403}
    if re.match(r"/api/(tasks|drafts)/\{", path):
        statuses |= {401, 404}
    return statuses


def _refusal_response(status: int, method: str) -> dict[str, Any]:
    operation_object: dict[str, Any] = {"description": HTTPStatus(status).phrase}
    if method != "HEAD":
        operation_object["content"] = {JSON: {"schema": {"$ref": _REF.format(name="Error")}}}
    return operation_object


def _content(content: BodyContent) -> dict[str, Any]:
    # JSON as an alternative to files may have any shape.
    any_json = content.schema is BINARY
    return {kind: {"schema": {} if any_json and kind == JSON else content.schema} for kind in content.types}


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
