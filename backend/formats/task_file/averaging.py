"""Defines the table [coordination.averaging]: how peers average (docs/reference/mesh.md)."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from backend.formats.task_file.types import TaskTable
from backend.protocols.mesh.grouping import FULL_MEMBERS
from backend.wire.mesh_fields import MOST_IN_GROUP, Exchange, Plain, Reducer


class Averaging(TaskTable, frozen=True):
    """Configures groups of peers, the exchange of vectors in a group, and the reduction of their pieces.

    `precision` is float16 by default. A group drops a member after `patience` seconds of silence. With `lan`
    peers connect to each other's addresses of local networks, too.
    """

    groups: Literal["near", "random", "grid"] = "near"
    group_size: Annotated[int, Meta(ge=2, le=MOST_IN_GROUP)] = 8
    exchange: Literal["auto"] | Exchange = "auto"
    precision: Plain | None = None
    reducer: Reducer = "mean"
    patience: Annotated[float, Meta(ge=0.5, le=300)] = 5.0
    lan: bool = False

    def __post_init__(self) -> None:
        if self.exchange == "full" and self.group_size > FULL_MEMBERS:
            raise ValueError(
                f'exchange = "full" sends whole vectors to all of a group: set group_size to {FULL_MEMBERS} '
                'or less, or take "butterfly"'
            )
        if self.reducer != "mean" and self.exchange not in ("auto", "butterfly"):
            raise ValueError(
                f'reducer = "{self.reducer}" needs every piece of a part in one place: take '
                'exchange = "butterfly"'
            )
