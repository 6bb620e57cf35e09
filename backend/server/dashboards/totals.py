"""Sums the rounds of a task for its dashboard, updated as rounds end."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from backend.formats.manifest import Manifest
from backend.server.dashboards.refusal_hours import RefusalHours
from backend.server.estimates.energy import training_energy
from backend.stores.contracts import RoundRecord

# Rounds that the dashboard shows; the page of rounds shows older ones.
SHOWN = 200


@dataclass
class Totals:
    """Sums over all recorded rounds, and the records of the `newest` rounds.

    The watt-hours bound the energy of the rounds that made a version, from its number of examples.
    """

    manifest: Manifest
    rounds: int = 0
    made: int = 0
    accepted: int = 0
    examples: int = 0
    min_watt_hours: float = 0.0
    max_watt_hours: float = 0.0
    refusals: Counter[str] = field(default_factory=Counter)
    backends: Counter[str] = field(default_factory=Counter)
    refusal_hours: RefusalHours = field(default_factory=RefusalHours)
    newest: deque[RoundRecord] = field(default_factory=lambda: deque(maxlen=SHOWN))

    def add(self, record: RoundRecord, examples: int | None) -> None:
        """Adds a round; `examples` is that of the version that it made, None if it made none."""
        self.rounds += 1
        self.refusals.update(record.refusals)
        self.refusal_hours.add(record.ended, record.refusals)
        self.newest.append(record)
        if examples is None:
            return
        self.made += 1
        self.accepted += record.accepted
        self.examples += examples
        self.backends.update(record.accepted_by)
        minimum, maximum = training_energy(self.manifest, examples)
        self.min_watt_hours += minimum
        self.max_watt_hours += maximum

    def summary(self) -> dict[str, Any]:
        """Returns the totals for the dashboard (docs/reference/http.md)."""
        return {
            "rounds": self.rounds,
            "made": self.made,
            "accepted": self.accepted,
            "examples": self.examples,
            "watt_hours": [self.min_watt_hours, self.max_watt_hours],
            "refusals": _largest_first(self.refusals),
            "backends": _largest_first(self.backends),
        }


def _largest_first(counts: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
