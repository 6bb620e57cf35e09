"""The aggregate of a round under [security.reputation]: compares updates, and aggregates those that count."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import numpy as np

from backend.errors import AggregationError, StoreError
from backend.formats.task_file import RobustTable
from backend.numerics.aggregators.update_set import UpdateSet
from backend.numerics.reputation.round_comparison import RoundComparison, compare_round
from backend.numerics.reputation.suspicion import EvidenceKind, SuspicionRules, evidence_of
from backend.numerics.reputation.update_sketch import SketchHistory, UpdateSketcher
from backend.numerics.vectors import VALUE_BYTES, Vector, Vector64
from backend.server.rounds.robust_round_mean import MIB, SEED_BYTES
from backend.stores.updates.spool import SpareRows, UpdateSpool

# Of the updates that [security.robust] does not say it of.
_MEMORY_MIB = 512


@dataclass(frozen=True)
class ScoredUpdate:
    """What the aggregate must know of an update: who made it, of which version, with how many steps.

    `factor` is that of its weight, 0 if it does not count.
    """

    client: str
    version: int
    steps: int
    factor: float


@dataclass
class UpdateScoring:
    """What one task's rounds are scored with. The worker thread owns it; `sketcher` is made when needed."""

    rules: SuspicionRules
    draw: Callable[[int], bytes]
    history: SketchHistory = field(default_factory=SketchHistory)
    sketcher: UpdateSketcher | None = None

    def repeats(self, scored: ScoredUpdate, update: Vector) -> bool:
        """Whether an update [size] repeats an earlier one of its client."""
        if self.sketcher is None:
            self.sketcher = UpdateSketcher(len(update), int.from_bytes(self.draw(SEED_BYTES), "big"))
        return self.history.repeats(scored.client, scored.version, self.sketcher.sketch(update))


class ScoredRoundMean:
    """Keeps the updates of one round, of `size` values each; owns them until `close` (see UpdateMean).

    Without a `table` the aggregate is the mean weighted by examples and factors. With one, each update that
    counts counts once (decision 0090); those that do not are no longer among the false ones that the rule has
    to bear, nor are the `refused` ones. After `mean`, `evidence` has what there is against each client.
    """

    def __init__(
        self,
        table: RobustTable | None,
        size: int,
        most: int,
        folder: Path | None,
        scoring: UpdateScoring,
        spare: SpareRows | None = None,
    ) -> None:
        """Takes at most `most` updates of `size` values; see RobustRoundMean for `folder` and `spare`."""
        memory = (table.memory if table else _MEMORY_MIB) * MIB
        self._table, self._scoring = table, scoring
        self._spool = UpdateSpool(size, min(memory, most * size * VALUE_BYTES), folder, spare)
        self._added: list[tuple[ScoredUpdate, int, bool]] = []
        self._failure: StoreError | None = None
        self._left_out: set[int] = set()
        self.refused = 0
        self.evidence: dict[str, dict[EvidenceKind, float]] = {}

    def add_scored(self, update: Vector, weight: int, scored: ScoredUpdate) -> None:
        """Copies `update`, float32 [size]. Raises ValueError for another shape."""
        if self._failure is not None:
            return
        try:
            self._spool.add(update)
        except StoreError as error:
            self._failure = error
            return
        self._added.append((scored, weight, self._scoring.repeats(scored, update)))

    def mean(self) -> Vector64:
        """Returns the aggregate, float64 [size], and frees the updates. Call it once.

        Raises AggregationError, with the numbers, if too few count, and StoreError if one was not kept.
        """
        try:
            if self._failure is not None:
                raise self._failure
            updates = UpdateSet(self._spool.rows())
            given = [scored for scored, _, _ in self._added]
            comparison = compare_round(
                updates, [one.steps for one in given], [one.factor > 0.0 for one in given]
            )
            try:
                return self._aggregate(updates)
            finally:
                self._judge(comparison)
        except ValueError as error:
            raise AggregationError(f"No version was made of this round: {error}") from error
        finally:
            self.close()

    @property
    def rule(self) -> str:
        """The robust rule with its steps, such as `nnm + krum`; empty for the mean."""
        return self._table.words if self._table else ""

    @property
    def left_out(self) -> list[int]:
        """After `mean`, the numbers of the counting updates that the rule did not use at all."""
        return sorted(self._left_out)

    def close(self) -> None:
        """See UpdateMean."""
        self._spool.close()

    def _judge(self, comparison: RoundComparison) -> None:
        for number, (scored, _, repeats) in enumerate(self._added):
            self.evidence[scored.client] = evidence_of(
                float(comparison.distances[number]),
                float(comparison.opposed[number]),
                repeats,
                number in self._left_out,
                self._scoring.rules,
            )

    def _aggregate(self, updates: UpdateSet) -> Vector64:
        counting = [number for number, (scored, _, _) in enumerate(self._added) if scored.factor > 0.0]
        if not counting:
            raise AggregationError(
                f"None of the {len(self._added)} updates that arrived counts at present: their clients are "
                "in quarantine. The next round may have others."
            )
        if self._table is None:
            weights = np.array([weight * scored.factor for scored, weight, _ in self._added])
            return updates.combine(weights / weights.sum())
        table = _table_of(self._table, self.refused, len(updates), len(counting))
        rule = table.aggregator(int.from_bytes(self._scoring.draw(SEED_BYTES), "big"))
        rule.check(len(counting))
        # The same set where all count: its distances are measured already.
        counted = updates if len(counting) == len(updates) else updates.chosen(counting)
        aggregate = rule.rule(counted)
        self._left_out = {counting[number] for number in counted.unused or []}
        return aggregate


def _table_of(table: RobustTable, refused: int, accepted: int, counting: int) -> RobustTable:
    """Returns the table for the updates that count: one that does not is one of the false ones to bear.

    Raises AggregationError, with the numbers, for fewer accepted ones than the rule needs.
    """
    left = table.attackers - refused
    least = table.least_for(left)
    if accepted < least:
        beside = f" beside {refused} refused as false" if refused else ""
        raise AggregationError(
            f"{table.words} needs at least {least} updates{beside} to bear attackers = {table.attackers}, "
            f"and {accepted} were accepted, of which it bears {table.most_attackers(accepted)}. The next "
            "round may have more; else lower security.robust.attackers."
        )
    return msgspec.structs.replace(table, attackers=max(0, left - (accepted - counting)))
