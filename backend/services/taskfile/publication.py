"""The tables [security], [try] and [licence]."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, field

from backend.services.taskfile.types import Line, Part, Positive


class Security(Part, frozen=True):
    """Bounds on what one client may do."""

    max_update_norm: Positive = 100.0


class Try(Part, frozen=True):
    """The "Try the model" widget."""

    input: Annotated[str, Meta(max_length=32, pattern=r"^[a-z-]+\Z")]
    labels: list[Line] = field(default_factory=list)


class Licence(Part, frozen=True):
    """Under which terms model and data are published."""

    model: Line | None = None
    data: Line | None = None
