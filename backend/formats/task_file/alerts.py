"""The table [alerts]: when the owner is told that something is wrong, and how, beside the dashboard."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from backend.formats.task_file.types import TaskTable

Url = Annotated[str, Meta(max_length=1000, pattern=r"^https?://\S+\Z")]
Email = Annotated[str, Meta(max_length=254, pattern=r"^[^@\s,<>]+@[^@\s,<>]+\Z")]


class AlertRules(TaskTable, frozen=True):
    """What lasts so many `minutes` is worth an alert; the operator says which webhooks may be called."""

    minutes: Annotated[float, Meta(gt=0, le=10_080)] = 30.0
    webhook: Url | None = None
    email: Annotated[list[Email], Meta(max_length=8)] = []  # noqa: RUF012 - msgspec copies defaults.
