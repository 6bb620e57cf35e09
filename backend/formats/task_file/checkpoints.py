"""Defines the table [checkpoints]: which versions' weights the data folder retains."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from backend.formats.task_file.types import TaskTable

Count = Annotated[int, Meta(ge=0, le=1_000_000)]


class Checkpoints(TaskTable, frozen=True):
    """Selects the versions whose weights are retained; others are deleted. Version 0 is in the bundle.

    `keep_last` is at least 2: clients of the previous round may still be fetching the previous version.
    """

    keep_last: Annotated[int, Meta(ge=2, le=1_000_000)] = 10
    keep_best: Count = 1
    keep_every: Count = 0
