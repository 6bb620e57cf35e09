"""A training of the robustness lab whose updates are judged by the server's reputation."""

from __future__ import annotations

import secrets
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

RULES = SuspicionRules(10.0, 10)


@dataclass(frozen=True)
class Late:
    """A client whose updates come too late, but in one of `of` rounds."""

    client: int
    of: int = 3


class JudgedTraining(AttackedTraining):
    """Trains like its base, and judges; `quarantined` maps clients to the round that began their quarantine.

    `late` names a slow client. `slander` makes the attackers' updates of all updates [n, size].
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
        self._scoring = UpdateScoring(RULES, secrets.token_bytes)
        self._verdicts: list[bool] = []

    def _passes(self, update: Vector) -> bool:
        passes = super()._passes(update)
        self._verdicts.append(passes)
        return passes

    def _aggregate(
        self, updates: Sequence[tuple[Vector, int]], refused: int, number: int
    ) -> tuple[str | None, list[int]]:
        verdicts, self._verdicts = self._verdicts, []
        assert verdicts.count(False) == refused
        accepted = [client for client, passes in enumerate(verdicts) if passes]
        for client in set(range(len(verdicts))) - set(accepted):
            self.book.update_refused(str(client), "not-finite")
        size = len(self.weights)
        mean = ScoredRoundMean(self._table, size, len(verdicts), None, self._scoring)
        counted: list[str] = []
        for client, (update, examples) in zip(accepted, updates, strict=True):
            if self._late is not None and client == self._late.client and number % self._late.of:
                self.book.update_refused(str(client), "stale-round")
                continue
            factor = self.book.suspicion(str(client)).weight
            mean.add_scored(update, examples, ScoredUpdate(str(client), number, examples // 32 + 1, factor))
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
        return reason, []


def with_rare_class(lab: RobustnessLab, clients: int, alpha: float, seed: int) -> list[NDArray[np.int64]]:
    """Returns the examples of each client: skewed, and those of the last one all of a class the others lack.

    The others have a third of that class at most.
    """
    labels = lab.task.train.y[0]
    rare = np.flatnonzero(labels == 9)
    own, taken = rare[:30], rare[:120]
    parts = lab.task.split(clients, alpha, seed)[:-1]
    return [*(np.setdiff1d(part, taken) for part in parts), own]


def run(training: JudgedTraining, rounds: int) -> float:
    """Trains so many rounds; returns the last held-out accuracy."""
    return [outcome.accuracy for outcome in training.run(rounds)][-1]
