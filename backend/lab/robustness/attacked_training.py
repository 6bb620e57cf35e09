"""Trains rounds in process while some participants attack: real trainer, real arithmetic of the server.

It does not run the host of rounds, its machine or sockets: every participant answers every round in time.
`AttackedTraining.round` is the seam where the host takes over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from backend.errors import UpdateRefusedError
from backend.lab.attacks.attack import AttackedRound, UpdateRows
from backend.lab.robustness.attack_plan import AttackPlan
from backend.lab.robustness.local_training import LocalTrainer
from backend.lab.robustness.masked_sums import group_means
from backend.lab.robustness.robustness_task import METRIC, RobustnessTask
from backend.numerics.aggregation.server_optimizers import no_state
from backend.numerics.aggregation.update_checks import Norm
from backend.numerics.aggregation.weighted_mean import WeightedMean
from backend.numerics.aggregators.composition import Aggregator
from backend.numerics.aggregators.robust_mean import RobustMean
from backend.numerics.metrics import metric_values
from backend.numerics.vectors import VALUE_BYTES, Vector, blocks
from backend.peer.data.shards import Examples
from backend.peer.training.measurer import VersionMeasurer
from backend.peer.training.step import never, read_totals
from backend.peer.training.trainer import TrainingPlan
from backend.stores.updates.spool import UpdateSpool

# (false updates to bear, seed of the round) -> rule; None is the server's weighted mean.
RoundRule: TypeAlias = Callable[[int, int], Aggregator]


@dataclass(frozen=True)
class AttackedRoundOutcome:
    """The version after a round: held-out `accuracy`, and the share of backdoor tests that succeed, if any.

    `refused` updates did not pass the server's checks. `honest_ejections` honest ones did, and a rule that
    chooses updates did not use them. `abandoned` says why a round made no version.
    """

    accuracy: float
    backdoor: float | None
    refused: int
    honest_ejections: int
    abandoned: str | None


class RobustnessLab:
    """Compiles a task's graphs once, and measures versions. Owned by one thread."""

    def __init__(self, task: RobustnessTask) -> None:
        self.task = task
        self.trainer = LocalTrainer(task.graphs)
        self._measurer = VersionMeasurer(task.graphs)

    def accuracy(self, weights: Vector, examples: Examples) -> float:
        """Returns the share of `examples` that the version [P] classifies as labelled."""
        _, _, sums = read_totals(self._measurer.totals(weights, examples, never))
        return metric_values(self.task.graphs.manifest.metrics, [sums])[METRIC]


class AttackedTraining:
    """A training of clients with the examples `parts` each, of whom the first `attackers` attack.

    Owns the version and the server optimizer's state. `rule` None is the weighted mean. With `groups`,
    updates are masked: the server gets the sums of so many random groups, and refuses none. `received` is
    called with the updates of each round before they are aggregated. Everything follows from `seed`.
    """

    def __init__(
        self,
        lab: RobustnessLab,
        parts: Sequence[NDArray[np.int64]],
        attackers: int,
        attack: AttackPlan,
        rule: RoundRule | None,
        seed: int,
        groups: int = 0,
    ) -> None:
        """Raises ValueError unless there is at least one honest client, and one attacker for an attack."""
        attacks = attack.data is not None or attack.update is not None
        if not (1 if attacks else 0) <= attackers < len(parts):
            raise ValueError(
                f"Of {len(parts)} clients, {attackers} cannot be the attackers of {attack.name}."
            )
        self._lab, self._attackers, self._attack, self._rule, self._seed = lab, attackers, attack, rule, seed
        self._groups = groups
        self._examples = [self._examples_of(number, rows) for number, rows in enumerate(parts)]
        self._test = attack.data.trigger(lab.task.held_out) if attack.data and attack.data.trigger else None
        self._optimizer, self._state = lab.task.server_optimizer(), no_state()
        self._earlier: list[UpdateRows] = []
        self.weights = lab.task.weights
        self.received: Callable[[Sequence[Vector]], None] = lambda _: None

    def run(self, rounds: int) -> Iterator[AttackedRoundOutcome]:
        """Yields the outcome of each round."""
        for number in range(rounds):
            yield self.round(number)

    def round(self, number: int) -> AttackedRoundOutcome:
        """Trains and aggregates one round; the version stays if the rule refuses its updates."""
        trained = [self._train(client, number) for client in range(len(self._examples))]
        updates = np.stack([update for update, _ in trained])
        if self._attack.update is not None:
            own, honest = updates[: self._attackers], updates[self._attackers :]
            known = AttackedRound(number, own, honest, tuple(self._earlier))
            updates = np.concatenate([self._attack.update(known), honest])
            kept = self._attack.update.remembers
            self._earlier = [*self._earlier, own][-kept:] if kept else []
        sent = [(update, examples) for update, (_, examples) in zip(updates, trained, strict=True)]
        accepted = [row for row, (update, _) in enumerate(sent) if self._groups or self._passes(update)]
        refused = len(sent) - len(accepted)
        received = self._sums(sent, number) if self._groups else [sent[row] for row in accepted]
        self.received([update for update, _ in received])
        abandoned, left_out = self._aggregate(received, refused, number)
        # A rule that leaves out a group does not say whose update was false.
        ejected = 0 if self._groups else sum(accepted[row] >= self._attackers for row in left_out)
        accuracy = self._lab.accuracy(self.weights, self._lab.task.held_out)
        backdoor = None if self._test is None else self._lab.accuracy(self.weights, self._test)
        return AttackedRoundOutcome(accuracy, backdoor, refused, ejected, abandoned)

    def _sums(self, sent: Sequence[tuple[Vector, int]], number: int) -> list[tuple[Vector, int]]:
        """Returns the means of the masked groups of round `number`, each of which counts once."""
        random = np.random.default_rng(self._seed_of(number, len(sent) + 1))
        clip, liars = self._lab.task.file.security.max_update_norm, range(self._attackers)
        return [(mean, 1) for mean in group_means(sent, liars, self._groups, clip, random)]

    def _aggregate(
        self, updates: Sequence[tuple[Vector, int]], refused: int, number: int
    ) -> tuple[str | None, list[int]]:
        """Makes the next version. Returns why it did not, if so, and which updates a rule did not use."""
        size = len(self.weights)
        mean: WeightedMean | RobustMean = WeightedMean(size)
        if self._rule is not None:
            # A refused update is one of the f that the rule is made for.
            rule = self._rule(max(self._attackers - refused, 0), self._seed_of(number, 0))
            mean = RobustMean(rule, UpdateSpool(size, len(self._examples) * size * VALUE_BYTES))
        for update, examples in updates:
            # A rule counts each update once, whatever number of examples its client claims.
            mean.add(update, examples if self._rule is None else 1)
        try:
            aggregate = mean.mean()
        except ValueError as error:
            return str(error), []
        trainable = self._lab.task.graphs.manifest.parameters.trainable
        self.weights, self._state = self._optimizer(self.weights, aggregate, self._state, trainable)
        return None, mean.left_out if isinstance(mean, RobustMean) else []

    def _train(self, client: int, number: int) -> tuple[Vector, int]:
        """Returns a client's update [P], zeros if it needs none, and the examples that it counted."""
        training = self._lab.task.training
        plan = TrainingPlan(
            epochs=training.epochs,
            learning_rate=training.learning_rate,
            seed=self._seed_of(number, client + 1),
            steps=training.steps,
            batch_size=training.batch_size,
        )
        attack = self._attack.update
        if client < self._attackers and attack is not None and not attack.trains:
            examples = self._lab.trainer.counted(plan, len(self._examples[client]))
            return np.zeros_like(self.weights), examples
        return self._lab.trainer.train(self.weights, plan, self._examples[client])

    def _examples_of(self, client: int, rows: NDArray[np.int64]) -> Examples:
        attack, train = self._attack, self._lab.task.train
        if attack.rare is not None:
            rows = rows[~attack.rare[rows]]
        own = train.picked(rows)
        if client < self._attackers and attack.data is not None:
            return attack.data.poison(own, self._seed + client)
        return own

    def _passes(self, update: Vector) -> bool:
        """Whether the server accepts the update: its values are finite, its norm is within the task's."""
        norm = Norm()
        try:
            for part in blocks(len(update)):
                norm.add(update[part])
            norm.within(self._lab.task.file.security.max_update_norm)
        except UpdateRefusedError:
            return False
        return True

    def _seed_of(self, number: int, client: int) -> int:
        return int(np.random.SeedSequence([self._seed, number, client]).generate_state(1)[0] >> 1)
