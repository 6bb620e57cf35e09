"""The options of a peer in a task of work units."""

from __future__ import annotations

from dataclasses import dataclass

from backend.errors import UnreachableError
from backend.wire.unit_messages import MOST_SLOTS, Enlist

# A rented machine costs money while it waits for a server that does not return.
GIVE_UP_SECONDS = 3600.0
# Seconds between two checkpoints of a unit: what a killed peer trains again at most.
CHECKPOINT_SECONDS = 30.0


@dataclass(frozen=True)
class UnitOptions:
    """The options of a peer of work units: it trains `at_once` units concurrently.

    `preemptible` marks a machine that its provider stops, not a person. `give_up_after` is how many seconds
    the server may be unreachable, `offline` for how many to take work without a connection.
    """

    address: str
    enlist: Enlist
    at_once: int = 1
    preemptible: bool = False
    give_up_after: float = GIVE_UP_SECONDS
    offline: int = 0

    @property
    def slots(self) -> int:
        """The number of units to hold: those in training, and one that is fetched meanwhile."""
        return min(self.at_once + 1, MOST_SLOTS)

    def check_patience(self, away: float, reason: str) -> None:
        """Raises UnreachableError if `away` seconds are too many; `reason` says why the server is away."""
        limit = self.give_up_after
        if away > limit:
            raise UnreachableError(
                f"The server is away ({reason}), and this peer gives up after {limit:.0f} s. "
                "Ask the server's operator, and join again when it is back."
            )
