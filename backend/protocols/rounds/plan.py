"""What a task says about its rounds, as the machine needs it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from backend.numerics.metrics import Metric
from backend.protocols.rounds.phases import RETURN_SECONDS
from backend.protocols.rounds.stop_rules import NO_RULES, StopRules
from backend.wire.masked_messages import Aggregation


@dataclass(frozen=True)
class RoundPlan:
    """Selection, work, ends and evaluation of a task's rounds. Times are seconds.

    `shard_examples` are the sizes of the task's shards; without any, clients train on their own examples.
    `shard_parts` is the part of each where the data were dealt out to clients, else empty.
    `steps` is 0 for as many as `epochs` make. `update_bytes` is the length of what a client sends.
    `aggregation` is how updates may be added up, best first: open, or masked with `masked_bytes` each and at
    most `most_masked` clients in a round.
    `holdout_examples` are the sizes of held-out shards for clients to measure on; without any they measure
    on their own. Where it is `withheld` clients tell neither their loss nor sums. Who lost its connection is
    awaited for `grace`. The machine keeps to the letter of it: what goes together is checked where it is
    read.
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
    grace: float = RETURN_SECONDS
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
    withheld: bool = False
    stop: StopRules = NO_RULES
    aggregation: tuple[Aggregation, ...] = ("open",)
    masked_bytes: int = 0
    most_masked: int = 0

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
