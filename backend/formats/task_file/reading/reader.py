"""Reads a task file: parses TOML, applies overrides, checks types and the rules between tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from backend.errors import TaskFileError
from backend.formats.task_file.reading.hints import explain
from backend.formats.task_file.reading.plan_changes import ChangedValue, apply_changes
from backend.formats.task_file.reading.toml_parser import parse_toml
from backend.formats.task_file.rules.combinations import contradiction
from backend.formats.task_file.task_file import TaskFile


def read_task_file(
    path: Path, overrides: Sequence[str] = (), changes: Sequence[ChangedValue] = ()
) -> TaskFile:
    """Reads the task file at `path`, and applies changes, then overrides such as `coordination.rounds=5`.

    Raises TaskFileError, which names the field.
    """
    tables = read_task_tables(path)
    apply_changes(tables, changes)
    for override in overrides:
        set_value(tables, override)
    return parse_task(tables, str(path))


def read_task_tables(path: Path) -> dict[str, Any]:
    """Reads the tables of the task file at `path`, unchecked. Raises TaskFileError."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TaskFileError(f"{path} cannot be read: {error}.") from error
    try:
        return parse_toml(text)
    except (ValueError, RecursionError) as error:
        # Not only TOMLDecodeError: Python reads no number of thousands of digits.
        raise TaskFileError(f"{path} is not valid TOML: {error}.") from error


def parse_task(tables: dict[str, Any], where: str) -> TaskFile:
    """Converts a parsed task file to its typed form; `where` names the file in errors.

    Raises TaskFileError.
    """
    try:
        task = msgspec.convert(tables, TaskFile)
    except msgspec.ValidationError as error:
        raise TaskFileError(f"{where}: {explain(error)} See docs/reference/task-file.md.") from error
    if sentence := contradiction(task):
        raise TaskFileError(f"{where}: {sentence} See docs/reference/task-file.md.")
    return task


def set_value(tables: dict[str, Any], override: str) -> None:
    """Applies the override `a.b.c=value`; the value is read as TOML, or else as plain text.

    Raises TaskFileError.
    """
    key, equals, text = override.partition("=")
    *folders, last = key.strip().split(".")
    if not equals or not last:
        raise TaskFileError(f"'{override}' is no override; write TASK.TABLE.KEY=VALUE.")
    try:
        value = parse_toml(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        value = text
    table = tables
    for folder in folders:
        inner = table.setdefault(folder, {})
        if not isinstance(inner, dict):
            raise TaskFileError(f"'{override}' cannot be set: {folder} is not a table.")
        table = inner
    table[last] = value
