"""A training of the lab whose clients have a reputation, as under [security.reputation] of a task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from backend.errors import AggregationError
from backend.formats.task_file import RobustTable
from backend.lab.robustness.attack_plan import AttackPlan
from backend.lab.robustness.attacked_training import AttackedTraining, RobustnessLab
from backend.numerics.reputation.suspicion import SuspicionRules
from backend.numerics.vectors import Vector
from backend.protocols.rounds.reputation_book import ReputationBook
from backend.server.rounds.scored_round_mean import ScoredRoundMean, ScoredUpdate, UpdateScoring

# The defaults of a task file that has an empty table [security.reputation].
RULES = SuspicionRules(10.0, 10)


@dataclass(frozen=True)
class Late:
    """A client whose updates come too late, but in one of `of` rounds."""

    client: int
    of: int = 3


class JudgedTraining(AttackedTraining):
    """Trains like its base, and judges clients; `table` is the rule for the updates that count, if any.

    `quarantined` maps clients to the round that began their first quarantine, `highest` [n] is their highest
    suspicion. `late` names a slow client. The updates of a client in quarantine count as not used.
    """

    def __init__(
        self,
        lab: RobustnessLab,
        parts: Sequence[NDArray[np.int64]],
        attackers: int,
        attack: AttackPlan,
        seed: int,
        table: RobustTable | None = None,
        late: Late | None = None,
    ) -> None:
        super().__init__(lab, parts, attackers, attack, None, seed)
        self.book = ReputationBook(RULES, (), lambda _client: False)
        self.quarantined: dict[int, int] = {}
        self.highest = np.zeros(len(parts))
        self._table, self._late = table, late
        self._scoring = UpdateScoring(RULES, np.random.default_rng([seed, 1]).bytes)
        self._verdicts: list[bool] = []

    def _passes(self, update: Vector) -> bool:
        passes = super()._passes(update)
        self._verdicts.append(passes)
        return passes

    def _aggregate(
        self, updates: Sequence[tuple[Vector, int]], refused: int, number: int
    ) -> tuple[str | None, list[int]]:
        verdicts, self._verdicts = self._verdicts, []
        accepted = [client for client, passes in enumerate(verdicts) if passes]
        for client in set(range(len(verdicts))) - set(accepted):
            self.book.update_refused(str(client), "not-finite")
        size = len(self.weights)
        mean = ScoredRoundMean(self._table, size, len(verdicts), None, self._scoring)
        mean.refused = refused
        given: list[int] = []
        counted: list[str] = []
        for row, (client, (update, examples)) in enumerate(zip(accepted, updates, strict=True)):
            if self._late is not None and client == self._late.client and number % self._late.of:
                self.book.update_refused(str(client), "stale-round")
                continue
            factor = self.book.suspicion(str(client)).weight
            steps = examples // self._lab.task.training.batch_size + 1
            mean.add_scored(update, examples, ScoredUpdate(str(client), number, steps, factor))
            given.append(row)
            counted += [str(client)] if factor else []
        reason = None
        try:
            trainable = self._lab.task.graphs.manifest.parameters.trainable
            self.weights, self._state = self._optimizer(self.weights, mean.mean(), self._state, trainable)
        except AggregationError as error:
            reason = str(error)
        self.book.round_ended(number, mean.evidence, counted)
        for client in range(len(verdicts)):
            suspicion = self.book.suspicion(str(client))
            self.highest[client] = max(self.highest[client], suspicion.score)
            if suspicion.quarantined:
                self.quarantined.setdefault(client, number)
        unused = {given[row] for row in mean.left_out}
        return reason, sorted(unused | {row for row in given if str(accepted[row]) not in counted})
