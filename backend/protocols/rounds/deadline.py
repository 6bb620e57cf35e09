"""How long a round may last, by what is known of its clients' speed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median

# Twice as long as half of the cohort needs: who is slower than that sends what it has.
SLACK = 2.0
# One among very many is always silent for the first time; they count when they are more than this share.
FEW = 0.1
# A first round fetches model and shards, compiles and sends, of which the time of one step says nothing.
NEWCOMER = 3.0


@dataclass(frozen=True)
class PlannedWork:
    """What one client is asked for; `step_ms` is what it measured for one step."""

    examples: int
    steps: int
    step_ms: float


@dataclass
class Speeds:
    """Seconds per example of each client, from plan to update, as its last round showed.

    A client that was silent until the deadline is awaited for twice that long once; if it is silent again,
    only the others' pace counts, until it delivers. So a slow device gets its chance, and a frozen one
    lengthens a single round. In a large cohort a few silent ones are not awaited at all. What clients claim
    of themselves moves the median only.
    """

    # The last round was abandoned: the next gets all the time there is.
    failed: bool = False
    rates: dict[str, float] = field(default_factory=dict)
    misses: dict[str, int] = field(default_factory=dict)

    def delivered(self, client: str, examples: int, seconds: float) -> None:
        """An update of so many examples was here so many seconds after its plan went out."""
        self.rates[client] = seconds / max(1, examples)
        self.misses.pop(client, None)

    def missed(self, client: str, examples: int, seconds: float) -> None:
        """A client did not deliver what it was asked for within so many seconds."""
        self.rates[client] = max(self.rates.get(client, 0.0), seconds / max(1, examples))
        self.misses[client] = self.misses.get(client, 0) + 1

    def seconds(self, cohort: Mapping[str, PlannedWork], quorum: int, least: float, most: float) -> float:
        """How long a round of this cohort may last, within `least` and `most`.

        It is enough for half of the cohort and for the quorum. Nobody's pace is known: `most`.
        """
        if self.failed or not any(client in self.rates for client in cohort):
            return most
        needed = {client: self._estimate(client, work) for client, work in cohort.items()}
        again = [SLACK * needed[client] for client in cohort if self.misses.get(client) == 1]
        if len(again) <= FEW * len(cohort):
            again = []
        enough = sorted(needed.values())[: max(1, quorum)][-1]
        half = median(needed.values())
        return max(min(least, most), min(most, max([SLACK * half, SLACK * enough, *again])))

    def _estimate(self, client: str, work: PlannedWork) -> float:
        if client in self.rates:
            return self.rates[client] * work.examples
        return NEWCOMER * work.steps * work.step_ms / 1000.0
