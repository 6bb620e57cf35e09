"""Totals the results of the open epoch, and makes its record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from backend.numerics.metrics import Metric, metric_values
from backend.server.rounds.round_accumulator import MAX_KINDS, Refusals, spread
from backend.stores.contracts import ContributionRecord, RoundRecord
from backend.wire.unit_messages import Result

# Losses kept per epoch, for their spread.
MAX_LOSSES = 1000


@dataclass
class Given:
    """The contribution of one client to an epoch: its accepted results and their examples."""

    kind: str
    backend: str
    accepted: int = 0
    examples: int = 0


@dataclass
class Epoch:
    """The totals of one epoch, which starts at `version`.

    `began` is the loop's time of the first lease since the server started; None before it. `seconds` is the
    duration before the server's restart. `sums` are the added numerators and denominators of the
    metrics of assimilated results; `loss` is the sum of their losses, weighted by examples. `refused` counts
    the rejected results.
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
        """Adds a client that was granted a lease, or updates its kind and backend."""
        contribution = self.given.setdefault(client, Given(kind, backend))
        contribution.kind, contribution.backend = kind, backend

    def counted(self, client: str, examples: int) -> None:
        """Counts a valid result of a client."""
        contribution = self.given.setdefault(client, Given("browser", ""))
        contribution.accepted += 1
        contribution.examples += examples

    def assimilated(self, client: str, result: Result, examples: int) -> None:
        """Adds an assimilated result to the totals."""
        self.blended += 1
        self.examples += examples
        self.loss += examples * result.loss
        sums = self.sums or [(0.0, 0.0)] * len(result.sums)
        self.sums = [(a + c, b + d) for (a, b), (c, d) in zip(sums, result.sums, strict=True)]
        if len(self.losses) < MAX_LOSSES:
            self.losses.append(result.loss)
        about = self.given.get(client)
        kind = f"{about.kind} {about.backend}" if about else "other"
        self.kinds[kind if kind in self.kinds or len(self.kinds) < MAX_KINDS else "other"] += 1

    def mean_loss(self) -> float | None:
        """Returns the mean loss over the examples of all assimilated results; None without any."""
        return self.loss / self.examples if self.examples else None

    def metrics(self, specs: Sequence[Metric]) -> dict[str, float]:
        """Returns the training metrics over the examples of all assimilated results."""
        return metric_values(specs, [self.sums]) if self.sums else {}

    def lasted(self, now: float) -> float:
        """Returns how many seconds the epoch has lasted so far."""
        return self.seconds + (max(0.0, now - self.began) if self.began is not None else 0.0)

    def record(self, reason: str, now: float, ended: float) -> RoundRecord:
        """Returns the record of the epoch, in the form of a round. `ended` is in Unix seconds."""
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
        """Returns the contribution of each client that sent a result."""
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
