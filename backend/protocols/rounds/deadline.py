"""The deadline of a round: estimates from its clients' measured speed how long it may last."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median

# A round lasts twice as long as half of the cohort needs; a slower client sends what it has.
SLACK = 2.0
# In a large cohort some client is always silent for the first time: fewer than this share do not count.
SILENT_SHARE = 0.1
# A first round also loads model and shards, compiles and sends, which the time of one step does not contain.
FIRST_ROUND = 3.0


@dataclass(frozen=True)
class PlannedWork:
    """The work that one client is asked for; `step_ms` is its measured time for one step."""

    examples: int
    steps: int
    step_ms: float


@dataclass
class ClientSpeeds:
    """Tracks the seconds per example of each client, from plan to update, in its last round.

    The next round waits twice as long for a client that was silent until the deadline. If it is silent again,
    only the others' speed counts, until it delivers. So a slow device can finish, and a frozen one lengthens
    a single round. In a large cohort the round does not wait for a few silent clients. Times that clients
    report themselves affect the median only.
    """

    # After an abandoned round the next one gets the longest deadline.
    failed: bool = False
    rates: dict[str, float] = field(default_factory=dict)
    misses: dict[str, int] = field(default_factory=dict)

    def delivered(self, client: str, examples: int, seconds: float) -> None:
        """Records that an update of so many examples arrived so many seconds after its plan was sent."""
        self.rates[client] = seconds / max(1, examples)
        self.misses.pop(client, None)

    def missed(self, client: str, examples: int, seconds: float) -> None:
        """Records that a client did not deliver its work within so many seconds."""
        self.rates[client] = max(self.rates.get(client, 0.0), seconds / max(1, examples))
        self.misses[client] = self.misses.get(client, 0) + 1

    def seconds(
        self, cohort: Mapping[str, PlannedWork], quorum: int, minimum: float, maximum: float
    ) -> float:
        """Returns how long a round of this cohort may last, `minimum` to `maximum`.

        It is enough for half of the cohort and for the quorum. Where no client's speed is known, it is
        `maximum`.
        """
        if self.failed or not any(client in self.rates for client in cohort):
            return maximum
        needed = {client: self._estimate(client, work) for client, work in cohort.items()}
        silent = [SLACK * needed[client] for client in cohort if self.misses.get(client) == 1]
        if len(silent) <= SILENT_SHARE * len(cohort):
            silent = []
        for_quorum = sorted(needed.values())[: max(1, quorum)][-1]
        half = median(needed.values())
        return max(min(minimum, maximum), min(maximum, max([SLACK * half, SLACK * for_quorum, *silent])))

    def _estimate(self, client: str, work: PlannedWork) -> float:
        if client in self.rates:
            return self.rates[client] * work.examples
        return FIRST_ROUND * work.steps * work.step_ms / 1000.0
