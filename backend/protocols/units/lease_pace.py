"""How long a lease holds, by how long its client took for those before."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

# So many paces of a client are remembered; fewer than FEW say nothing of its slow ones yet.
REMEMBERED, FEW = 32, 3


@dataclass(frozen=True)
class PaceRules:
    """Seconds: `usual` for who is not known yet, `factor` times the client's 90th percentile for others.

    No lease holds for less than `least`, nor, however often it is renewed, for more than `most`.
    """

    usual: float = 600.0
    factor: float = 2.0
    least: float = 30.0
    most: float = 7200.0

    def __post_init__(self) -> None:
        if not 0.0 < self.least <= self.usual <= self.most or self.factor < 1.0:
            raise ValueError("0 < least <= usual <= most, and factor is at least 1")


def allowed_seconds(examples: int, paces: Sequence[float], rules: PaceRules) -> float:
    """How long a lease of so many examples holds; `paces` are its client's seconds for one, newest last."""
    if len(paces) < FEW:
        return rules.usual
    ordered = sorted(paces)
    # The smallest value that nine of ten do not exceed.
    slow = examples * ordered[math.ceil(0.9 * len(ordered)) - 1]
    return min(rules.most, max(rules.least, rules.factor * slow))


def seconds_for(examples: int, paces: Sequence[float], said: float | None) -> float | None:
    """What so many examples usually take: by the median of `paces`, or by what the client `said` itself."""
    if paces:
        return examples * sorted(paces)[len(paces) // 2]
    return None if said is None else examples * said
