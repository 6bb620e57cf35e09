"""The seats of households in masked cohorts: how many clients of one network a round may select."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class HouseholdSeats:
    """Counts the eligible clients of each household, of which at most `most` get a seat; 0 is no limit.

    A client with the household "" has no household and takes no seat of others. `taken` has each household's
    seats of excluded clients: otherwise a new name would replace each of them. Owned by the attendance.
    """

    most: int = 0
    available: int = 0
    taken: Counter[str] = field(default_factory=Counter)
    _eligible: Counter[str] = field(default_factory=Counter)

    def left(self, household: str) -> float:
        """The number of seats that a household may still fill."""
        if not self.most or not household:
            return float("inf")
        return max(0, self.most - self.taken[household])

    def add(self, household: str) -> None:
        """Counts an eligible client."""
        self._change(household, 1, self._eligible)

    def remove(self, household: str) -> None:
        """Counts an eligible client less."""
        self._change(household, -1, self._eligible)

    def keep(self, household: str) -> None:
        """Takes a seat from a household for a client that is kept out."""
        self._change(household, 1, self.taken)

    def give_back(self, household: str) -> None:
        """Returns the seat of a client that is not kept out any more."""
        self._change(household, -1, self.taken)

    def fill(self, order: list[str], households: dict[str, str], count: int) -> list[str]:
        """Returns the first `count` clients of `order` for which their `households` have seats."""
        filled, chosen = Counter[str](), list[str]()
        for client in order:
            household = households[client]
            if len(chosen) < count and filled[household] < self.left(household):
                filled[household] += 1
                chosen.append(client)
        return chosen

    def _change(self, household: str, by: int, counter: Counter[str]) -> None:
        self.available -= self._seated(household)
        counter[household] += by
        self.available += self._seated(household)
        if not counter[household]:
            del counter[household]

    def _seated(self, household: str) -> int:
        return int(min(self._eligible[household], self.left(household)))
