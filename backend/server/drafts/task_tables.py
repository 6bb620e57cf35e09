"""Reads and completes the tables of a draft's task file: owners' values, fixed values and proposals."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from backend.datasets.inspection.findings import DataFindings
from backend.errors import TaskFileError
from backend.formats.task_file import TaskFile
from backend.formats.task_file.reading.reader import parse_task
from backend.formats.task_file.reading.toml_parser import parse_toml
from backend.server.drafts.transfer.url_data import fixed_url

WHERE = "task.toml"
MAX_BYTES, MAX_DEPTH = 1 << 18, 12
# Paths of a task's parts within its folder, which owners cannot choose.
BUNDLE, SHARDS, MODEL = "bundle", "shards", "bundle/model.keras"
_SMALL = 500


def begin(name: str, title: str) -> dict[str, Any]:
    """Returns the initial task file of a draft."""
    return fixed(
        {
            "name": name,
            "title": title,
            "model": {"batch_size": 32},
            "data": {"source": "shards"},
            "coordination": {
                "scheme": "federated",
                "rounds": 20,
                "min_available_clients": 2,
                "deadline": 120,
            },
        }
    )


def fixed(tables: Mapping[str, Any]) -> dict[str, Any]:
    """Returns an owner's `tables` with the values that owners cannot choose. Raises TaskFileError."""
    _check_size(tables)
    if "hooks" in tables:
        raise TaskFileError(
            f"{WHERE}: [hooks] runs a program on the server, which is for those who run it. Take it out."
        )
    fixed_tables = {
        key: dict(value) if isinstance(value, Mapping) else value for key, value in tables.items()
    }
    model, data = fixed_tables.setdefault("model", {}), fixed_tables.setdefault("data", {})
    if not isinstance(model, dict) or not isinstance(data, dict):
        raise TaskFileError(f"{WHERE}: [model] and [data] are tables; write them so.")
    model |= {"file": MODEL, "bundle": BUNDLE}
    data.pop("shards", None)
    if isinstance(data.get("url"), Mapping):
        data["url"] = fixed_url(data["url"], SHARDS)
    if data.get("source") == "shards":
        data["shards"] = SHARDS
    return fixed_tables


def from_toml(text: str) -> dict[str, Any]:
    """Parses the tables in a text. Raises TaskFileError."""
    if len(text) > MAX_BYTES:
        raise TaskFileError(f"{WHERE} has over {MAX_BYTES >> 10} KiB; keep long texts in README.md.")
    try:
        tables = parse_toml(text)
    except (ValueError, RecursionError) as error:
        # Not only TOMLDecodeError: Python reads no number of thousands of digits.
        raise TaskFileError(f"{WHERE} is not valid TOML: {error}.") from error
    return fixed(tables)


def from_bytes(content: bytes) -> dict[str, Any]:
    """Parses the tables in a file's content. Raises TaskFileError."""
    try:
        return from_toml(content.decode())
    except UnicodeDecodeError as error:
        raise TaskFileError("task.toml is not UTF-8; save it as UTF-8.") from error


def read_tables(path: Path) -> dict[str, Any]:
    """Reads the tables of a launched task's file, unchanged. Raises TaskFileError."""
    try:
        return parse_toml(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise TaskFileError(f"{path} cannot be read: {error}.") from error


def parsed(tables: Mapping[str, Any]) -> TaskFile:
    """Returns the typed task file. Raises TaskFileError that names the field."""
    return parse_task(dict(tables), WHERE)


def proposed(tables: Mapping[str, Any], findings: DataFindings) -> dict[str, Any]:
    """Returns `tables` with proposals from the data for values that the owner has not set."""
    data = {"preprocess": findings.preprocess, **tables.get("data", {})}
    training = tables.get("training", {})
    if "steps" not in training:
        training = {**plan(findings.examples, data), **training}
    return {**tables, "data": data, "training": training}


def with_model(tables: Mapping[str, Any], lacking: Mapping[str, Any]) -> dict[str, Any]:
    """Returns `tables` with the conversion's proposals for values of [model] that the owner has not set."""
    return {**tables, "model": {**lacking, **tables.get("model", {})}}


def plan(examples: int, data: Mapping[str, Any]) -> dict[str, Any]:
    """Proposes [training]: 2 epochs for few examples or volunteers' own, to justify a round's traffic."""
    return {"epochs": 2 if examples <= _SMALL or data.get("source") == "volunteer" else 1}


def _check_size(tables: Mapping[str, Any]) -> None:
    if _is_deeper(tables, MAX_DEPTH):
        raise TaskFileError(f"{WHERE} has tables {MAX_DEPTH} deep in each other; no task needs that.")
    try:
        # Drafts are stored and sent as JSON, which has no dates, NaN or infinity.
        size = len(json.dumps(tables, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise TaskFileError(
            f"{WHERE} holds something that is no text, finite number, list or table."
        ) from error
    if size > MAX_BYTES:
        raise TaskFileError(f"{WHERE} has over {MAX_BYTES >> 10} KiB; keep long texts in README.md.")


def _is_deeper(value: Any, most: int) -> bool:
    """Whether tables and lists lie within each other over `most` deep, level by level: without recursion."""
    level = [value]
    for _ in range(most):
        level = [item for outer in level for item in _inner(outer)]
    return bool(level)


def _inner(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
