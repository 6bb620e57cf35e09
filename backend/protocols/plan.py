"""What a task says about its rounds, as the machine needs it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from backend.numerics.metrics import Metric
from backend.protocols.stopping import NO_RULES, StopRules


@dataclass(frozen=True)
class Plan:
    """Selection, work, ends and evaluation of a task's rounds. Times are seconds.

    `shard_examples` are the sizes of the task's shards; without any, clients train on their own examples.
    `shard_parts` is the part of each where the data were dealt out to clients, else empty.
    `steps` is 0 for as many as `epochs` make. `update_bytes` is the length of what a client sends.
    `holdout_examples` are the sizes of held-out shards for clients to measure on; without any they measure
    on their own. The machine keeps to the letter of it: what goes together is checked where it is read.
    """

    rounds: int
    min_available_clients: int
    quorum: int
    deadline: float
    batch_size: int
    update_bytes: int
    seed: int
    fraction_train: float = 1.0
    min_train_clients: int = 2
    over_selection: float = 0.0
    gather: float = 0.0
    min_deadline: float = 0.0
    adaptive_deadline: bool = False
    epochs: int = 1
    steps: int = 0
    shard_examples: tuple[int, ...] = ()
    shard_parts: tuple[int, ...] = ()
    shards_per_client: int = 1
    metrics: tuple[Metric, ...] = ()
    fraction_evaluate: float = 0.0
    min_evaluate_clients: int = 2
    evaluate_every: int = 1
    holdout_examples: tuple[int, ...] = ()
    stop: StopRules = NO_RULES

    @property
    def metric_rows(self) -> int:
        """How many pairs a client's sums have."""
        return sum(metric.rows for metric in self.metrics)

    @property
    def own_data(self) -> bool:
        """Whether clients train on their own examples."""
        return not self.shard_examples

    def most_steps(self, examples: int) -> int:
        """Steps of a client that has `examples`, if it does them all."""
        return self.steps or self.epochs * math.ceil(examples / self.batch_size)

    def most_examples(self, examples: int) -> int:
        """How many examples it processes in these steps; each visit counts."""
        if not self.steps:
            return self.epochs * examples
        epochs, rest = divmod(self.steps, max(1, math.ceil(examples / self.batch_size)))
        return epochs * examples + min(rest * self.batch_size, examples)

    def measures(self, version: int) -> bool:
        """Whether clients are asked to evaluate `version`; the last one always counts as due."""
        due = version % self.evaluate_every == 0 or version >= self.rounds
        return self.fraction_evaluate > 0.0 and due
