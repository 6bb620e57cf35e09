"""Turns the rounds of a task into events, each reported once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

# Some versions are never measured (no held-out examples, no TensorFlow), so the wait for them is bounded.
MAX_UNMEASURED = 20

JsonObject = dict[str, Any]


@dataclass
class RoundEvents:
    """Tracks ended rounds and later measurements; `last_reported` is the newest reported round."""

    last_reported: int = 0
    unmeasured: set[int] = field(default_factory=set)

    @property
    def after(self) -> int:
        """The number after which rounds must be fetched again."""
        return min([self.last_reported, *(number - 1 for number in self.unmeasured)])

    def new_events(self, rounds: Sequence[JsonObject]) -> list[JsonObject]:
        """Returns the new events of `rounds`, oldest first: `{"event": "round" or "measured", ...}`."""
        events: list[JsonObject] = []
        for round_ in rounds:
            number, made = round_["round"], round_["made"]
            measured = made is not None and made["evaluation"] is not None
            if number > self.last_reported:
                events.append({"event": "round", **round_})
                if made is not None and not measured:
                    self.unmeasured.add(number)
            elif number in self.unmeasured and measured:
                events.append({"event": "measured", "round": number, **made})
                self.unmeasured.discard(number)
        self.last_reported = max([self.last_reported, *(round_["round"] for round_ in rounds)])
        self.unmeasured = set(sorted(self.unmeasured)[-MAX_UNMEASURED:])
        return events
