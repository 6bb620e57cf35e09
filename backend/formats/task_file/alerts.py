"""Defines the table [alerts]: when and how the owner is alerted, besides the dashboard."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from backend.formats.task_file.types import TaskTable

Url = Annotated[str, Meta(max_length=1000, pattern=r"^https?://\S+\Z")]
Email = Annotated[str, Meta(max_length=254, pattern=r"^[^@\s,<>]+@[^@\s,<>]+\Z")]


class AlertRules(TaskTable, frozen=True):
    """Sends an alert when a fault lasts `minutes`; the operator lists the webhooks that may be called."""

    minutes: Annotated[float, Meta(gt=0, le=10_080)] = 30.0
    webhook: Url | None = None
    email: Annotated[list[Email], Meta(max_length=8)] = []  # noqa: RUF012 - msgspec copies defaults.
