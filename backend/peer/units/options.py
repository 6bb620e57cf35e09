"""The options of a peer in a task of work units."""

from __future__ import annotations

from dataclasses import dataclass

from backend.errors import UnreachableError
from backend.wire.unit_messages import MOST_SLOTS, Enlist

# A rented machine costs money while it waits for a server that is gone.
GIVE_UP_SECONDS = 3600.0


@dataclass(frozen=True)
class UnitOptions:
    """How a peer takes units: `at_once` are trained at the same time.

    `preemptible`: a machine that is stopped by its provider, not by a person. `give_up_after` is how many
    seconds the server may be away.
    """

    address: str
    enlist: Enlist
    at_once: int = 1
    preemptible: bool = False
    give_up_after: float = GIVE_UP_SECONDS

    @property
    def slots(self) -> int:
        """Those in training, and one that is fetched meanwhile."""
        return min(self.at_once + 1, MOST_SLOTS)

    def check_patience(self, away: float, reason: str) -> None:
        """Raises UnreachableError where the server would be `away` for too many seconds; see `reason`."""
        most = self.give_up_after
        if away > most:
            raise UnreachableError(
                f"The server is away ({reason}), and this peer waits no longer than {most:.0f} s. "
                "Ask whoever runs the server, and join again when it is back."
            )
