"""Decides whether a task's results have the same bits everywhere: `training.exact` with its default."""

from __future__ import annotations

from typing import Literal

from backend.formats.task_file.task_file import TaskFile

# "required": only clients of the backend `exact` take part. "preferred": their results are compared by hash.
Exactness = Literal["required", "preferred", "off"]


def exactness(file: TaskFile) -> Exactness:
    """Returns `training.exact`; by default "preferred" for work units on shards, else "off"."""
    if file.training.exact is not None:
        return file.training.exact
    return "preferred" if file.coordination.volunteer and file.data.source == "shards" else "off"
