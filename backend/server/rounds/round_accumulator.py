"""The accumulator of the open round: adds up its updates and counts refusals, for the record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from backend.numerics.aggregation.weighted_mean import UpdateMean
from backend.numerics.integrity.update_trend import RoundMinority
from backend.numerics.metrics import Metric, metric_values
from backend.numerics.reputation.suspicion import EvidenceKind
from backend.numerics.scaffold import ControlChanges
from backend.numerics.vectors import Vector, Vector64
from backend.server.rounds.group_sums import GroupSums, clients_of
from backend.server.rounds.robust_round_mean import RobustRoundMean
from backend.server.rounds.scored_round_mean import ScoredRoundMean, ScoredUpdate
from backend.server.rounds.update_sketches import RoundSketches
from backend.stores.contracts import ContributionRecord, RoundRecord
from backend.stores.updates.kept_rounds import KeptOutcome
from backend.stores.updates.kept_updates import KeptUpdates
from backend.wire.messages import Offer

# Kind and backend of each client.
ClientKinds: TypeAlias = Mapping[str, tuple[str, str]]
UNKNOWN_KIND = ("browser", "")
# Clients choose these words, so that a round records only so many of them.
MAX_KINDS = 16


@dataclass
class Refusals:
    """Counts refused updates by client and by reason."""

    clients: Counter[str] = field(default_factory=Counter)
    codes: Counter[str] = field(default_factory=Counter)

    def add(self, client: str, code: str) -> None:
        """Counts an update of `client`, refused with the error `code`."""
        self.clients[client] += 1
        self.codes[code] += 1


@dataclass(frozen=True)
class RoundOutcome:
    """The result of a round: the mean [parameters] of its updates, and the clients' loss and metrics."""

    mean: Vector64
    examples: int
    loss: float | None
    metrics: dict[str, float]


@dataclass
class RoundAccumulator:
    """Accumulates the updates of one round.

    Owned by the task's host, except `mean`, `changes`, `masked`, `kept` and `sketches`, which its worker
    thread uses.

    In a masked round all figures of clients are in the sums `masked`, and none in their offers. `mean` then
    has the means of its `groups`, if there are several.

    `changes` sums the changes of the clients' control variates; None without control variates. Under
    `private` each update weighs 1, and neither losses nor numbers of examples are recorded. `sketches` are
    those of the updates that count; None where they are not sketched.
    `refused` starts with the refusals after the previous round was recorded; `later` are those after this
    round was recorded. `factors` has those of the weights of updates under [security.reputation], 0 for one
    that does not count. `checked` has the identities of newcomers whose updates were only checked. `kept`
    keeps the updates that count; None where none are kept.
    """

    mean: UpdateMean | ScoredRoundMean
    round: int = 0
    version: int = 0
    cohort: int = 0
    opened: float = 0.0
    # Its duration, after it ended.
    seconds: float = 0.0
    accepted: dict[str, Offer] = field(default_factory=dict)
    factors: dict[str, float] = field(default_factory=dict)
    checked: list[str] = field(default_factory=list)
    refused: Refusals = field(default_factory=Refusals)
    later: Refusals = field(default_factory=Refusals)
    recorded: bool = False
    changes: ControlChanges | None = None
    masked: GroupSums | None = None
    groups: tuple[tuple[str, ...], ...] = ()
    private: bool = False
    kept: KeptUpdates | None = None
    sketches: RoundSketches | None = None
    false_updates: int = 0

    def add(self, update: Vector, offer: Offer, client: str = "") -> None:
        """Adds an update of a client."""
        factor = self.factors.get(client, 1.0)
        if self.kept is not None and factor > 0.0:
            self.kept.add(update, client, offer.examples * factor)
        if self.sketches is not None and factor > 0.0:
            self.sketches.add(update)
        if isinstance(self.mean, ScoredRoundMean):
            scored = ScoredUpdate(client, self.version, offer.steps, factor)
            self.mean.add_scored(update, offer.examples, scored)
            return
        self.mean.add(update, 1 if self.private else offer.examples)
        if self.changes is not None:
            self.changes.add(update, offer.steps)

    def add_masked(self, group: int, content: memoryview) -> None:
        """Adds a masked update to the sum of its group."""
        if self.masked is not None:
            self.masked.add(group, content)

    def end(self, seconds: float, false_updates: int) -> None:
        """Notes the end of the round after `seconds`: so many updates that a rule bears were refused."""
        self.seconds, self.false_updates = seconds, false_updates
        if isinstance(self.mean, RobustRoundMean | ScoredRoundMean):
            self.mean.refused = false_updates

    def keep(self, record: RoundRecord, run: int, made: int) -> None:
        """Keeps the updates of the recorded round, which made version `made` of the run, if the task does."""
        if self.kept is None:
            return
        self.kept.keep(
            KeptOutcome(
                run=run,
                round=record.round,
                version=record.version,
                made=made,
                rule=record.rule,
                left_out=record.left_out,
                refused=self.false_updates,
            )
        )

    def close(self) -> None:
        """Frees the updates of a round that is over or abandoned."""
        self.mean.close()
        if self.kept is not None:
            self.kept.discard()

    @property
    def examples(self) -> int:
        """The examples of all updates together; 0 under `private`, and before the sum is unmasked."""
        if self.private:
            return 0
        if self.masked is None:
            return sum(offer.examples for offer in self.counted.values())
        return round(self.masked.terms.examples * self.masked.weight)

    @property
    def counted(self) -> dict[str, Offer]:
        """The offers of the accepted updates that count."""
        return {
            client: offer for client, offer in self.accepted.items() if self.factors.get(client, 1.0) > 0.0
        }

    def take_evidence(self) -> dict[str, dict[EvidenceKind, float]]:
        """Returns the evidence against each client whose update was compared, once."""
        if not isinstance(self.mean, ScoredRoundMean):
            return {}
        evidence, self.mean.evidence = self.mean.evidence, {}
        return evidence

    def outcome(self, specs: Sequence[Metric]) -> RoundOutcome:
        """Returns the result of the round. Raises ValueError without any update."""
        if self.masked is None or isinstance(self.mean, ScoredRoundMean):  # Scored updates are not masked.
            return RoundOutcome(self.mean.mean(), self.examples, self.loss(), self.metrics(specs))
        mean = self.masked.mean(self.mean)
        if self.private:
            return RoundOutcome(mean, 0, None, {})
        metrics = metric_values(specs, [self.masked.rows()])
        return RoundOutcome(mean, self.examples, self.masked.loss(), metrics)

    def clustered(self) -> RoundMinority | None:
        """Returns what a minority of the updates does; None where they are not sketched, or too few."""
        return None if self.sketches is None else self.sketches.clustered()

    def refuse(self, client: str, code: str) -> None:
        """Counts a refusal; it belongs to the next round if this one is recorded already."""
        (self.later if self.recorded else self.refused).add(client, code)

    def loss(self) -> float | None:
        """Returns the mean training loss of accepted updates, weighted by examples; None under `private`."""
        if self.private:
            return None
        return self._average([(offer.loss, offer.examples) for offer in self.counted.values()])

    def metrics(self, specs: Sequence[Metric]) -> dict[str, float]:
        """Returns the metrics over all examples of the accepted updates, from their sums."""
        if self.private:
            return {}
        return metric_values(specs, [offer.sums for offer in self.counted.values()])

    def record(
        self, outcome: str, reason: str, seconds: float, ended: float, client_kinds: ClientKinds
    ) -> RoundRecord:
        """Returns the record of the round; later refusals belong to the next round."""
        self.recorded = True
        robust = self.mean if isinstance(self.mean, RobustRoundMean | ScoredRoundMean) else None
        unused = robust.left_out if robust else []
        used = self.masked.used if self.masked else []
        grouped = len(self.groups) > 1
        # Updates were added in the order in which they were accepted.
        clients, counted = list(self.accepted), self.counted
        return RoundRecord(
            round=self.round,
            version=self.version,
            cohort=self.cohort,
            accepted=len(counted),
            refused=self.refused.codes.total(),
            outcome=outcome,
            reason=reason,
            seconds=seconds,
            ended=ended,
            refusals=dict(self.refused.codes),
            accepted_by=kinds(client_kinds.get(client, UNKNOWN_KIND) for client in counted),
            losses={} if self.private or self.masked else spread(one.loss for one in counted.values()),
            rule=robust.rule if robust else "",
            left_out=[] if grouped else [clients[number] for number in unused],
            uncounted=[client for client in clients if client not in counted],
            groups=len(self.groups) if grouped else 0,
            groups_used=len(used),
            left_out_groups=clients_of(self.groups, [used[number] for number in unused], {*clients})
            if grouped
            else [],
            checked=len(self.checked),
        )

    def contributions(self, client_kinds: ClientKinds, counted: bool) -> list[ContributionRecord]:
        """Returns the contribution of each client. A round that was not `counted` credits no update."""
        contributions: list[ContributionRecord] = []
        for client in self.accepted.keys() | self.refused.clients.keys():
            kind, backend = client_kinds.get(client, UNKNOWN_KIND)
            offer = self.counted.get(client) if counted else None
            contributions.append(
                ContributionRecord(
                    client=client,
                    kind=kind,
                    backend=backend,
                    accepted=int(offer is not None),
                    refused=self.refused.clients[client],
                    examples=offer.examples if offer and not self.private else 0,
                )
            )
        return contributions

    @staticmethod
    def _average(pairs: list[tuple[float, int]]) -> float:
        return sum(value * weight for value, weight in pairs) / sum(weight for _, weight in pairs)


def spread(losses: Iterable[float]) -> dict[str, float]:
    """Returns percentiles of the clients' losses; an empty dict without losses."""
    values = list(losses)
    if not values:
        return {}
    percentiles = np.percentile(values, (10, 50, 90))
    return {name: float(value) for name, value in zip(("p10", "p50", "p90"), percentiles, strict=True)}


def kinds(clients: Iterable[tuple[str, str]]) -> dict[str, int]:
    """Counts clients by kind and backend; the rarest are counted together."""
    counts = Counter(" ".join(client).strip() for client in clients)
    kinds = dict(counts.most_common(MAX_KINDS))
    rest = counts.total() - sum(kinds.values())
    return kinds | ({"other": rest} if rest else {})
