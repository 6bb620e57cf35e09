"""The plan of a task's rounds: the settings of the task file that the round machine needs."""

from __future__ import annotations

import math
from dataclasses import dataclass

from backend.numerics.metrics import Metric
from backend.protocols.rounds.phases import RETURN_SECONDS
from backend.protocols.rounds.stop_rules import NO_RULES, StopRules
from backend.wire.masked_messages import Aggregation


@dataclass(frozen=True)
class RoundPlan:
    """Sets selection, work, end and evaluation of a task's rounds. Times are seconds.

    `shard_examples` are the sizes of the task's shards; without shards, clients train on their own examples.
    `shard_parts` is the part that each shard belongs to, where the data are partitioned by client; else
    empty. With `steps` 0, a client does as many steps as `epochs` need. `update_bytes` is the length of an
    update. `aggregation` lists how updates may be added up, best first: open, or masked with `masked_bytes`
    each and at most `most_masked` clients in a round, `most_per_household` of them of one household (0 is no
    limit), split into `masked_groups` of at least `least_masked` clients each. `holdout_examples` are the
    sizes of held-out shards that clients evaluate on; without any they evaluate on their own. Where it is
    `withheld`, clients report neither loss nor sums. A round waits `grace` seconds for a client that lost its
    connection. The aggregate bears `attackers` false updates, fewer than the `quorum`, from which refused
    ones are subtracted. Updates of newcomers are checked in `probation_rounds` rounds before they count (0:
    they count at once); they are at most `newcomer_share` of a cohort, see `newcomer_seats`. The task file is
    checked for consistency where it is read, not here.
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
    most_per_household: int = 0
    attackers: int = 0
    masked_groups: int = 1
    least_masked: int = 0
    probation_rounds: int = 0
    newcomer_share: float = 0.25

    @property
    def metric_rows(self) -> int:
        """The number of pairs in a client's sums."""
        return sum(metric.rows for metric in self.metrics)

    @property
    def own_data(self) -> bool:
        """Whether clients train on their own examples."""
        return not self.shard_examples

    def most_steps(self, examples: int) -> int:
        """Returns the number of steps that a client with `examples` does at most."""
        return self.steps or self.epochs * math.ceil(examples / self.batch_size)

    def most_examples(self, examples: int) -> int:
        """Returns the number of examples processed in these steps; repeated examples count each time."""
        if not self.steps:
            return self.epochs * examples
        epochs, rest = divmod(self.steps, max(1, math.ceil(examples / self.batch_size)))
        return epochs * examples + min(rest * self.batch_size, examples)

    def newcomer_seats(self, known: int) -> int:
        """Returns the seats of newcomers beside `known` clients whose updates count: at least one."""
        return max(1, math.floor(self.newcomer_share * known / (1.0 - self.newcomer_share) + 1e-9))

    def measures(self, version: int) -> bool:
        """Whether clients evaluate `version`; the last version is always evaluated."""
        due = version % self.evaluate_every == 0 or version >= self.rounds
        return self.fraction_evaluate > 0.0 and due
