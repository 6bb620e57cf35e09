"""What happened in a task, each thing told once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

# Versions that nobody measures (no held-out examples, no TensorFlow) are not waited for without end.
MOST_UNMEASURED = 20

Told = dict[str, Any]


@dataclass
class Story:
    """Rounds as they end, and measurements that come later. `seen` is the last round that was told."""

    seen: int = 0
    unmeasured: set[int] = field(default_factory=set)

    @property
    def after(self) -> int:
        """All rounds after this number are of interest."""
        return min([self.seen, *(number - 1 for number in self.unmeasured)])

    def news(self, rounds: Sequence[Told]) -> list[Told]:
        """Events of `rounds`, oldest first, that were not told: `{"event": "round" or "measured", ...}`."""
        events: list[Told] = []
        for one in rounds:
            number, made = one["round"], one["made"]
            measured = made is not None and made["evaluation"] is not None
            if number > self.seen:
                events.append({"event": "round", **one})
                if made is not None and not measured:
                    self.unmeasured.add(number)
            elif number in self.unmeasured and measured:
                events.append({"event": "measured", "round": number, **made})
                self.unmeasured.discard(number)
        self.seen = max([self.seen, *(one["round"] for one in rounds)])
        self.unmeasured = set(sorted(self.unmeasured)[-MOST_UNMEASURED:])
        return events
