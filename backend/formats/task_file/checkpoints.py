"""The table [checkpoints]: which versions' weights stay in the data folder."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from backend.formats.task_file.types import TaskTable

Count = Annotated[int, Meta(ge=0, le=1_000_000)]


class Checkpoints(TaskTable, frozen=True):
    """Versions whose weights are kept; the rest are let go. Version 0 is part of the bundle and stays.

    `keep_last` is at least 2: clients of the round before may still be fetching the version before.
    """

    keep_last: Annotated[int, Meta(ge=2, le=1_000_000)] = 10
    keep_best: Count = 1
    keep_every: Count = 0
