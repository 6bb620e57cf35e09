"""What the open round has brought so far: the host's notes beside the machine's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from backend.numerics.aggregation.weighted_mean import UpdateMean
from backend.numerics.metrics import Metric, metric_values
from backend.numerics.scaffold import ControlChanges
from backend.numerics.vectors import Vector, Vector64
from backend.server.rounds.masked_sum import MaskedSum
from backend.stores.contracts import ContributionRecord, RoundRecord
from backend.wire.messages import Offer

# Kind and backend of each client.
About: TypeAlias = Mapping[str, tuple[str, str]]
STRANGER = ("browser", "")
# Clients choose the words: a round remembers no more of them than this.
MOST_KINDS = 16


@dataclass
class Refusals:
    """Updates that did not count."""

    clients: Counter[str] = field(default_factory=Counter)
    codes: Counter[str] = field(default_factory=Counter)

    def add(self, client: str, code: str) -> None:
        """Counts one of `client`'s, refused for the reason `code`."""
        self.clients[client] += 1
        self.codes[code] += 1


@dataclass(frozen=True)
class RoundOutcome:
    """What the updates of a round come to: their mean [parameters], and what was said of the training."""

    mean: Vector64
    examples: int
    loss: float | None
    metrics: dict[str, float]


@dataclass
class RoundAccumulator:
    """Accepted offers and refusals of one round. Owned by the task host; `mean`, `changes` and `masked` by
    its worker thread.

    In a masked round everything that clients tell is in the sum `masked`, and nothing in their offers.

    `changes` are those of the clients' control variates, None without such. Where clients are `private` each
    weighs 1, and neither losses nor numbers of examples are remembered.
    `refused` begins with what was refused since the round before it was recorded, `later` holds what was
    refused since this one was.
    """

    mean: UpdateMean
    round: int = 0
    version: int = 0
    cohort: int = 0
    opened: float = 0.0
    # How long it took, once it is over.
    seconds: float = 0.0
    accepted: dict[str, Offer] = field(default_factory=dict)
    refused: Refusals = field(default_factory=Refusals)
    later: Refusals = field(default_factory=Refusals)
    recorded: bool = False
    changes: ControlChanges | None = None
    masked: MaskedSum | None = None
    private: bool = False

    def add(self, update: Vector, offer: Offer) -> None:
        """Counts an update in what the next version is made of."""
        self.mean.add(update, 1 if self.private else offer.examples)
        if self.changes is not None:
            self.changes.add(update, offer.steps)

    def add_masked(self, content: memoryview) -> None:
        """Counts a masked update in the sum."""
        if self.masked is not None:
            self.masked.add(content)

    @property
    def examples(self) -> int:
        """Those of all updates together; 0 where clients do not tell, and before their sum is unmasked."""
        if self.private:
            return 0
        if self.masked is None:
            return sum(offer.examples for offer in self.accepted.values())
        decoded = self.masked.decoded
        return 0 if decoded is None else round(self.masked.terms.examples * decoded.weight)

    def outcome(self, specs: Sequence[Metric]) -> RoundOutcome:
        """What the next version is made of. Raises ValueError before there is any update."""
        if self.masked is None:
            return RoundOutcome(self.mean.mean(), self.examples, self.loss(), self.metrics(specs))
        if self.masked.decoded is None:
            raise ValueError("The sum is still masked.")
        decoded, full = self.masked.decoded, self.masked.terms.examples
        mean = decoded.mean.astype(np.float64)
        if self.private:
            return RoundOutcome(mean, 0, None, {})
        rows = [full * value for value in decoded.rows]
        pairs = list(zip(rows[::2], rows[1::2], strict=True))
        return RoundOutcome(mean, self.examples, decoded.loss, metric_values(specs, [pairs]))

    def refuse(self, client: str, code: str) -> None:
        """Counts a refusal, if this round is recorded already for the next one."""
        (self.later if self.recorded else self.refused).add(client, code)

    def loss(self) -> float | None:
        """Mean training loss of the accepted updates, weighted by their examples; None where private."""
        if self.private:
            return None
        return self._average([(offer.loss, offer.examples) for offer in self.accepted.values()])

    def metrics(self, specs: Sequence[Metric]) -> dict[str, float]:
        """The model's metrics over all examples of the accepted updates, from their sums."""
        if self.private:
            return {}
        return metric_values(specs, [offer.sums for offer in self.accepted.values()])

    def record(self, outcome: str, reason: str, seconds: float, ended: float, about: About) -> RoundRecord:
        """The round as it will be remembered; what is refused from now on is the next one's."""
        self.recorded = True
        return RoundRecord(
            round=self.round,
            version=self.version,
            cohort=self.cohort,
            accepted=len(self.accepted),
            refused=self.refused.codes.total(),
            outcome=outcome,
            reason=reason,
            seconds=seconds,
            ended=ended,
            refusals=dict(self.refused.codes),
            accepted_by=kinds(about.get(client, STRANGER) for client in self.accepted),
            losses={} if self.private or self.masked else spread(one.loss for one in self.accepted.values()),
        )

    def contributions(self, about: About, counted: bool) -> list[ContributionRecord]:
        """Who gave what; `about` has kind and backend of each. A round that was not `counted` got nothing."""
        given: list[ContributionRecord] = []
        for client in self.accepted.keys() | self.refused.clients.keys():
            kind, backend = about.get(client, STRANGER)
            offer = self.accepted.get(client) if counted else None
            given.append(
                ContributionRecord(
                    client=client,
                    kind=kind,
                    backend=backend,
                    accepted=int(offer is not None),
                    refused=self.refused.clients[client],
                    examples=offer.examples if offer and not self.private else 0,
                )
            )
        return given

    @staticmethod
    def _average(pairs: list[tuple[float, int]]) -> float:
        return sum(value * weight for value, weight in pairs) / sum(weight for _, weight in pairs)


def spread(losses: Iterable[float]) -> dict[str, float]:
    """How far apart clients' losses are; nothing where there are none."""
    values = list(losses)
    if not values:
        return {}
    found = np.percentile(values, (10, 50, 90))
    return {name: float(value) for name, value in zip(("p10", "p50", "p90"), found, strict=True)}


def kinds(clients: Iterable[tuple[str, str]]) -> dict[str, int]:
    """How many clients have each kind and backend; the rarest together."""
    counts = Counter(" ".join(client).strip() for client in clients)
    kinds = dict(counts.most_common(MOST_KINDS))
    rest = counts.total() - sum(kinds.values())
    return kinds | ({"other": rest} if rest else {})
