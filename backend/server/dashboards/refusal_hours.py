"""Counts refused updates by hour and reason, for the newest hours of a task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

HOUR_SECONDS = 3600
# Hours kept, counted back from the newest one with refusals.
MAX_HOURS = 48


@dataclass
class RefusalHours:
    """The refusals of ended rounds; `_hours` is keyed by the number of the hour since the Unix epoch."""

    _hours: dict[int, Counter[str]] = field(default_factory=dict)

    def add(self, ended: float, refusals: Mapping[str, int]) -> None:
        """Adds the refusals of a round that `ended` then (Unix seconds), and drops hours that are too old."""
        if not refusals:
            return
        self._hours.setdefault(int(ended // HOUR_SECONDS), Counter()).update(refusals)
        oldest = max(self._hours) - MAX_HOURS + 1
        for hour in [hour for hour in self._hours if hour < oldest]:
            del self._hours[hour]

    def rows(self) -> list[dict[str, Any]]:
        """Returns the hours with refusals, the oldest first (docs/reference/http.md)."""
        return [
            {"at": hour * HOUR_SECONDS, "refusals": dict(sorted(codes.items()))}
            for hour, codes in sorted(self._hours.items())
        ]
