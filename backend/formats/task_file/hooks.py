"""Defines the table [hooks]: commands that the server runs on events of the task."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from backend.formats.task_file.types import TaskTable

Word = Annotated[str, Meta(min_length=1, max_length=1000)]


class Hooks(TaskTable, frozen=True):
    """Commands with their arguments, run in the task's folder; `seconds` limits the time of each."""

    on_round_end: Annotated[list[Word], Meta(min_length=1, max_length=100)] | None = None
    seconds: Annotated[float, Meta(gt=0, le=3600)] = 30.0
