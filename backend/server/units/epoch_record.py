"""Totals of the open epoch, from which its record is made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from backend.numerics.metrics import Metric, metric_values
from backend.server.rounds.round_accumulator import MAX_KINDS, Refusals, spread
from backend.stores.contracts import ContributionRecord, RoundRecord
from backend.wire.unit_messages import Result

# Losses of so many results are remembered for their spread.
MOST_LOSSES = 1000


@dataclass
class Given:
    """What one client gave in the epoch."""

    kind: str
    backend: str
    accepted: int = 0
    examples: int = 0


@dataclass
class Epoch:
    """Results of one epoch, which starts at `version`. It `began` with its first lease; None before that, or
    since the server began again. `seconds` are those before that.

    `sums` are the metrics' numerators and denominators of the results that were blended, added up; `loss` is
    weighted by their examples. `refused` has what did not count.
    """

    number: int
    version: int
    began: float | None = None
    seconds: float = 0.0
    blended: int = 0
    examples: int = 0
    loss: float = 0.0
    sums: list[tuple[float, float]] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    given: dict[str, Given] = field(default_factory=dict)
    kinds: Counter[str] = field(default_factory=Counter)
    refused: Refusals = field(default_factory=Refusals)

    def took(self, client: str, kind: str, backend: str) -> None:
        """A client has a part in it."""
        known = self.given.setdefault(client, Given(kind, backend))
        known.kind, known.backend = kind, backend

    def counted(self, client: str, examples: int) -> None:
        """A result of a client is valid."""
        known = self.given.setdefault(client, Given("browser", ""))
        known.accepted += 1
        known.examples += examples

    def assimilated(self, client: str, result: Result, examples: int) -> None:
        """A result is in the model."""
        self.blended += 1
        self.examples += examples
        self.loss += examples * result.loss
        sums = self.sums or [(0.0, 0.0)] * len(result.sums)
        self.sums = [(a + c, b + d) for (a, b), (c, d) in zip(sums, result.sums, strict=True)]
        if len(self.losses) < MOST_LOSSES:
            self.losses.append(result.loss)
        about = self.given.get(client)
        word = f"{about.kind} {about.backend}" if about else "other"
        self.kinds[word if word in self.kinds or len(self.kinds) < MAX_KINDS else "other"] += 1

    def mean_loss(self) -> float | None:
        """Of all examples of what was blended."""
        return self.loss / self.examples if self.examples else None

    def metrics(self, specs: Sequence[Metric]) -> dict[str, float]:
        """Over all examples of what was blended, while it was trained."""
        return metric_values(specs, [self.sums]) if self.sums else {}

    def lasted(self, now: float) -> float:
        """Seconds so far."""
        return self.seconds + (max(0.0, now - self.began) if self.began is not None else 0.0)

    def record(self, reason: str, now: float, ended: float) -> RoundRecord:
        """The epoch as it will be remembered, in the words of rounds."""
        return RoundRecord(
            round=self.number,
            version=self.version,
            cohort=len(self.given),
            accepted=self.blended,
            refused=self.refused.codes.total(),
            outcome="version" if self.blended else "abandoned",
            reason=reason,
            seconds=self.lasted(now),
            ended=ended,
            refusals=dict(self.refused.codes),
            accepted_by=dict(self.kinds),
            losses=spread(self.losses),
        )

    def contributions(self) -> list[ContributionRecord]:
        """Who gave what."""
        clients = {**dict.fromkeys(self.refused.clients, Given("browser", "")), **self.given}
        return [
            ContributionRecord(
                client=client,
                kind=given.kind,
                backend=given.backend,
                accepted=given.accepted,
                refused=self.refused.clients[client],
                examples=given.examples,
            )
            for client, given in clients.items()
            if given.accepted or self.refused.clients[client]
        ]
