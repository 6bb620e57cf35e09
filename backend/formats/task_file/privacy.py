"""Defines the table [privacy]: differential privacy of clients or of their examples."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from backend.formats.task_file.types import NotNegative, Number, Positive, TaskTable
from backend.numerics.privacy.clipping import AdaptiveClip


class Adaptive(TaskTable, frozen=True):
    """Adapts the clip to a quantile of the updates' norms."""

    count_noise: Positive
    quantile: Annotated[float, Meta(gt=0, lt=1)] = 0.5
    learning_rate: Annotated[float, Meta(gt=0, le=1)] = 0.2

    def clip(self) -> AdaptiveClip:
        """Returns the adaptive clip with these settings."""
        return AdaptiveClip(self.quantile, self.learning_rate, self.count_noise)


class PrivacyTable(TaskTable, frozen=True):
    """Configures differential privacy of clients, or of their examples.

    Updates are clipped to the L2 norm `clip`. Noise has the standard deviation `noise_multiplier` * `clip`.
    `central`: the server adds it to the sum of a round's updates. `distributed`: the clients of a masked
    round add shares of it. `local`: each client adds it to its own update. `examples`: clients clip the
    gradient of each `microbatch` examples instead and add noise to the sum of a step (Abadi et al. 2016).
    The task ends when its privacy loss reaches the budget `epsilon`.
    """

    mechanism: Literal["central", "local", "distributed", "examples"]
    clip: Positive
    noise_multiplier: NotNegative
    delta: Annotated[float, Meta(gt=0, lt=1)] = 1e-5
    epsilon: Annotated[float, Meta(gt=0, le=1000)] | None = None
    adaptive: Adaptive | None = None
    tree: bool = False
    microbatch: Number = 1

    @property
    def of_examples(self) -> bool:
        """Whether single examples are protected, not whole clients."""
        return self.mechanism == "examples"

    def __post_init__(self) -> None:
        if self.microbatch > 1 and not self.of_examples:
            raise ValueError('privacy.microbatch goes with mechanism = "examples"; leave it out')
        if self.mechanism != "central" and (self.adaptive or self.tree):
            raise ValueError(
                'privacy.adaptive and privacy.tree go with mechanism = "central": no server may see '
                "norms or running sums where clients add their own noise"
            )
        if self.adaptive and self.tree:
            raise ValueError(
                "privacy.adaptive and privacy.tree do not go together: the tree's noise is for sums of one "
                "clip. Leave one of them out"
            )
        if self.epsilon is not None and not self.noise_multiplier:
            raise ValueError(
                "privacy.epsilon needs noise: `minga privacy --epsilon E --rounds N` says how much"
            )
        if self.adaptive and self.noise_multiplier:
            try:
                self.adaptive.clip().multiplier_of_sum(self.noise_multiplier)
            except ValueError as error:
                raise ValueError(f"privacy.adaptive: {error}") from error
