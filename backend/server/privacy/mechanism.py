"""Describes a task's noise mechanism to the privacy accountant."""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

from msgspec import Struct

from backend.numerics.privacy.tree import squared_sensitivity

Kind: TypeAlias = Literal["central", "local", "distributed", "examples"]


def visits(epochs: int, steps: int, batch_size: int, examples: int) -> int:
    """Returns a round's maximum visits to one of at least `examples`; `epochs` or `steps` is 0."""
    return epochs or math.ceil(steps / math.ceil(examples / batch_size))


class WholeNumbers(Struct, frozen=True):
    """Skellam noise on integer sums, in the worst case over all possible rounds.

    `ratio` is the smallest standard deviation divided by a client's L2 norm, rounding included, `variance`
    the smallest variance, `l1` the largest L1 norm.
    """

    ratio: float
    variance: float
    l1: float

    def divergence(self, order: float) -> float:
        """Returns the Rényi divergence of one round (Agarwal, Kairouz and Liu 2021, corollary 4.1)."""
        squared = self.variance**2
        more = ((2.0 * order - 1.0) / (self.ratio**2 * self.variance) + 6.0 * self.l1 / squared) / 4.0
        return order / (2.0 * self.ratio**2) + min(more, 1.5 * self.l1 / self.variance)


class Mechanism(Struct, frozen=True):
    """The noise mechanism of a task.

    `noise_multiplier` is the standard deviation divided by the clip: of the noise on the sum, on each update
    if the noise is local, or on the sum of a step's gradients, each of `microbatch` examples; a round then
    visits an example `visits` times. `rounds` are those planned. With `tree` the sum's noise is DP-FTRL's,
    with `whole` that of a masked sum.
    """

    kind: Kind
    noise_multiplier: float
    rounds: int
    tree: bool = False
    whole: WholeNumbers | None = None
    visits: int = 1
    microbatch: int = 1

    def effective(self, taken: int) -> float:
        """Returns noise over sensitivity of a client's `taken` rounds, as one Gaussian mechanism.

        Gaussian mechanisms compose by adding their inverse squares (Dong, Roth and Su 2022, section 3).
        Two local updates of clipped norm differ by up to twice the clip. An example whose gradient becomes
        zero moves a sum by the clip, but in a larger microbatch it can reverse the clipped mean.
        """
        if self.tree:
            return self.noise_multiplier / math.sqrt(squared_sensitivity(taken, self.rounds))
        twice = self.kind == "local" or self.microbatch > 1
        return self.noise_multiplier / ((2.0 if twice else 1.0) * math.sqrt(taken * self.visits))
