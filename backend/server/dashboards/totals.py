"""Totals over all rounds of a task, updated as rounds end."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from backend.formats.manifest import Manifest
from backend.server.estimates.energy import training_energy
from backend.stores.contracts import RoundRecord

# Rounds that are shown at once; older ones stand on the page of rounds.
SHOWN = 200


@dataclass
class Totals:
    """Sums over all recorded rounds; of the newest the records themselves.

    `least` and `most` are watt-hours, of the rounds whose examples are known.
    """

    manifest: Manifest
    rounds: int = 0
    made: int = 0
    accepted: int = 0
    examples: int = 0
    least: float = 0.0
    most: float = 0.0
    refusals: Counter[str] = field(default_factory=Counter)
    backends: Counter[str] = field(default_factory=Counter)
    newest: deque[RoundRecord] = field(default_factory=lambda: deque(maxlen=SHOWN))

    def add(self, ended: RoundRecord, examples: int | None) -> None:
        """A round is over; `examples` counts those in the version that it made, None where it made none."""
        self.rounds += 1
        self.refusals.update(ended.refusals)
        self.newest.append(ended)
        if examples is None:
            return
        self.made += 1
        self.accepted += ended.accepted
        self.examples += examples
        self.backends.update(ended.accepted_by)
        least, most = training_energy(self.manifest, examples)
        self.least, self.most = self.least + least, self.most + most

    def summary(self) -> dict[str, Any]:
        """Returns the totals for the dashboard (docs/reference/http.md)."""
        return {
            "rounds": self.rounds,
            "made": self.made,
            "accepted": self.accepted,
            "examples": self.examples,
            "watt_hours": [self.least, self.most],
            "refusals": _largest_first(self.refusals),
            "backends": _largest_first(self.backends),
        }


def _largest_first(counts: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda one: (-one[1], one[0])))
