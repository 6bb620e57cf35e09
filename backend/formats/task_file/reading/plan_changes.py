"""Applies the changes that owners made to the plan of a launched task. Its file stays as it is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol


class ChangedValue(Protocol):
    """A new value of the dotted `key`, where the file says what it `was`; None is a key that is absent."""

    @property
    def key(self) -> str: ...
    @property
    def value(self) -> Any: ...
    @property
    def was(self) -> Any: ...


def value_at(tables: dict[str, Any], key: str) -> Any:
    """Returns the value of a dotted key; None if it is absent."""
    value: Any = tables
    for part in key.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def apply_changes(tables: dict[str, Any], changes: Iterable[ChangedValue]) -> None:
    """Applies each change whose value in the file is still the one that it was made to.

    A file that was edited afterwards counts: the last change of a value decides.
    """
    for change in changes:
        if value_at(tables, change.key) == change.was:
            set_at(tables, change.key, change.value)


def set_at(tables: dict[str, Any], key: str, value: Any) -> None:
    """Sets a dotted key, and makes the tables that it lies in; None removes the key."""
    *folders, last = key.split(".")
    table = tables
    for folder in folders:
        inner = table.get(folder)
        if not isinstance(inner, dict):
            inner = table[folder] = {}
        table = inner
    if value is None:
        table.pop(last, None)
    else:
        table[last] = value
