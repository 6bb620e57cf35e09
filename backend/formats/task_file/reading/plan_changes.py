"""Applies the changes that owners made to the plan of a launched task. Its file stays as it is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from backend.formats.task_file.reading.dotted_keys import set_at, value_at


class ChangedValue(Protocol):
    """A new value of the dotted `key`, where the file says what it `was`; None is a key that is absent."""

    @property
    def key(self) -> str: ...
    @property
    def value(self) -> Any: ...
    @property
    def was(self) -> Any: ...


def apply_changes(tables: dict[str, Any], changes: Iterable[ChangedValue]) -> None:
    """Applies each change whose value in the file is still the one that it was made to.

    A file that was edited afterwards counts: the last change of a value decides.
    """
    for change in changes:
        if value_at(tables, change.key) == change.was:
            set_at(tables, change.key, change.value)
