"""Defines the types that several tables of the task file share."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

Name = Annotated[str, Meta(min_length=1, max_length=64, pattern=r"^[a-z0-9][a-z0-9-]*\Z")]
Line = Annotated[str, Meta(max_length=300)]
Positive = Annotated[float, Meta(gt=0, le=1e9)]
NotNegative = Annotated[float, Meta(ge=0, le=1e9)]
Share = Annotated[float, Meta(ge=0, lt=1)]
Number = Annotated[int, Meta(ge=1, le=1_000_000)]

# A loss or metric: its name, a table with its name and settings, or a list for several outputs.
# The converter checks the names.
Measures = str | dict[str, Any] | list[Any]


class TaskTable(Struct, frozen=True, forbid_unknown_fields=True):
    """Base of every table; an unknown key is an error."""
