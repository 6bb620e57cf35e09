"""What the open round has brought so far: the host's notes beside the machine's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from backend.numerics.aggregate import WeightedMean
from backend.services.manifest import MetricSpec, metric_values
from backend.stores.contracts import Contribution, RoundRecord
from backend.wire.messages import Offer


@dataclass
class Tally:
    """Accepted offers and refusals of one round. Owned by the task host; `mean` by its worker thread."""

    mean: WeightedMean
    round: int = 0
    version: int = 0
    cohort: int = 0
    opened: float = 0.0
    accepted: dict[str, Offer] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)

    def loss(self) -> float:
        """Mean training loss of the accepted updates, weighted by their examples."""
        return self._average([(offer.loss, offer.examples) for offer in self.accepted.values()])

    def metrics(self, specs: Sequence[MetricSpec]) -> dict[str, float]:
        """The model's metrics over all examples of the accepted updates, from their sums."""
        return metric_values(specs, [offer.sums for offer in self.accepted.values()])

    def record(self, outcome: str, reason: str, seconds: float, ended: float) -> RoundRecord:
        """The round as it will be remembered."""
        return RoundRecord(
            round=self.round,
            version=self.version,
            cohort=self.cohort,
            accepted=len(self.accepted),
            refused=sum(self.refused.values()),
            outcome=outcome,
            reason=reason,
            seconds=seconds,
            ended=ended,
        )

    def contributions(self, about: dict[str, tuple[str, str]], counted: bool) -> list[Contribution]:
        """Who gave what; `about` has kind and backend of each. A round that was not `counted` got nothing."""
        given: list[Contribution] = []
        for client in self.accepted.keys() | self.refused.keys():
            kind, backend = about.get(client, ("browser", ""))
            offer = self.accepted.get(client) if counted else None
            given.append(
                Contribution(
                    client=client,
                    kind=kind,
                    backend=backend,
                    accepted=int(offer is not None),
                    refused=self.refused.get(client, 0),
                    examples=offer.examples if offer else 0,
                )
            )
        return given

    @staticmethod
    def _average(pairs: list[tuple[float, int]]) -> float:
        return sum(value * weight for value, weight in pairs) / sum(weight for _, weight in pairs)
