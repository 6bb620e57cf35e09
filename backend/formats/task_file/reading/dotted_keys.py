"""Reads and sets values of task files by dotted keys such as `training.epochs`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def value_at(tables: Mapping[str, Any], key: str) -> Any:
    """Returns the value of a dotted key; None if it is absent."""
    value: Any = tables
    for part in key.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def set_at(tables: dict[str, Any], key: str, value: Any) -> None:
    """Sets a dotted key, and makes the tables that it lies in; None removes the key.

    Where something else stands in place of such a table, nothing changes: reading the file reports that.
    """
    *folders, last = key.split(".")
    table = tables
    for folder in folders:
        inner = table.get(folder)
        if inner is None and value is not None:
            inner = table[folder] = {}
        if not isinstance(inner, dict):
            return
        table = inner
    if value is None:
        table.pop(last, None)
    else:
        table[last] = value
