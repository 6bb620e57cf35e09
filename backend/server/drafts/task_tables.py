"""The tables of a draft's task file: what owners may say in them, and what is proposed."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from backend.datasets.inspection.findings import DataFindings
from backend.errors import TaskFileError
from backend.formats.task_file import TaskFile
from backend.formats.task_file.reading.reader import parse_task
from backend.server.drafts.transfer.url_data import fixed_url

WHERE = "task.toml"
MAX_BYTES, MAX_DEPTH = 1 << 18, 12
# Where the parts of a task lie in its folder: never an owner's choice.
BUNDLE, SHARDS, MODEL = "bundle", "shards", "bundle/model.keras"
_SMALL = 500


def begin(name: str, title: str) -> dict[str, Any]:
    """A task file to begin with."""
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
    """`tables` of an owner with what is not theirs to choose. Raises TaskFileError."""
    _check_size(tables)
    if "hooks" in tables:
        raise TaskFileError(
            f"{WHERE}: [hooks] runs a program on the server, which is for those who run it. Take it out."
        )
    mended = {key: dict(value) if isinstance(value, Mapping) else value for key, value in tables.items()}
    model, data = mended.setdefault("model", {}), mended.setdefault("data", {})
    if not isinstance(model, dict) or not isinstance(data, dict):
        raise TaskFileError(f"{WHERE}: [model] and [data] are tables; write them so.")
    model |= {"file": MODEL, "bundle": BUNDLE}
    data.pop("shards", None)
    if isinstance(data.get("url"), Mapping):
        data["url"] = fixed_url(data["url"], SHARDS)
    if data.get("source") == "shards":
        data["shards"] = SHARDS
    return mended


def from_toml(text: str) -> dict[str, Any]:
    """The tables in a text. Raises TaskFileError."""
    if len(text) > MAX_BYTES:
        raise TaskFileError(f"{WHERE} has over {MAX_BYTES >> 10} KiB; keep long texts in README.md.")
    try:
        tables = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        # Not only TOMLDecodeError: Python reads no number of thousands of digits.
        raise TaskFileError(f"{WHERE} is not valid TOML: {error}.") from error
    return fixed(tables)


def from_bytes(content: bytes) -> dict[str, Any]:
    """The tables in a file. Raises TaskFileError."""
    try:
        return from_toml(content.decode())
    except UnicodeDecodeError as error:
        raise TaskFileError("task.toml is not UTF-8; save it as UTF-8.") from error


def read_tables(path: Path) -> dict[str, Any]:
    """The tables of a task file that somebody else wrote, as they stand there. Raises TaskFileError."""
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise TaskFileError(f"{path} cannot be read: {error}.") from error


def parsed(tables: Mapping[str, Any]) -> TaskFile:
    """The typed task file. Raises TaskFileError that names the field."""
    return parse_task(dict(tables), WHERE)


def proposed(tables: Mapping[str, Any], findings: DataFindings) -> dict[str, Any]:
    """`tables` with what the data suggest, where their owner has not said it."""
    data = {"preprocess": findings.preprocess, **tables.get("data", {})}
    training = {**plan(findings.examples, data), **tables.get("training", {})}
    return {**tables, "data": data, "training": training}


def with_model(tables: Mapping[str, Any], lacking: Mapping[str, Any]) -> dict[str, Any]:
    """`tables` with what the conversion proposes for [model], where their owner has not said it."""
    return {**tables, "model": {**lacking, **tables.get("model", {})}}


def plan(examples: int, data: Mapping[str, Any]) -> dict[str, Any]:
    """A plan for so many examples: few are visited twice in a round, so that it is worth its traffic."""
    return {"epochs": 2 if examples <= _SMALL or data.get("source") == "volunteer" else 1}


def _check_size(tables: Mapping[str, Any]) -> None:
    try:
        # JSON, in which drafts are kept and told, has no words for dates, NaN and infinity.
        size = len(json.dumps(tables, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise TaskFileError(
            f"{WHERE} holds something that is no text, finite number, list or table."
        ) from error
    if size > MAX_BYTES:
        raise TaskFileError(f"{WHERE} has over {MAX_BYTES >> 10} KiB; keep long texts in README.md.")
    if _depth(tables) > MAX_DEPTH:
        raise TaskFileError(f"{WHERE} has tables {MAX_DEPTH} deep in each other; no task needs that.")


def _depth(value: Any) -> int:
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return 1 + max((_depth(one) for one in inner), default=0)
