"""A robust rule as the mean of a round: updates are kept one by one, then aggregated."""

from __future__ import annotations

from typing import Protocol

from backend.numerics.aggregators.composition import Aggregator
from backend.numerics.aggregators.update_set import Updates, UpdateSet
from backend.numerics.vectors import Vector, Vector64


class UpdateBuffer(Protocol):
    """Keeps the updates of a round, in memory or elsewhere."""

    def add(self, update: Vector) -> None:
        """Copies an update (shape [size])."""
        ...

    def rows(self) -> Updates:
        """Returns all updates, in the order of `add`, valid until `close`."""
        ...

    def close(self) -> None:
        """Frees what they take."""
        ...


class RobustMean:
    """Aggregates updates by a rule (see `UpdateMean`). Owns `buffer`, which holds no update yet.

    Rules without a place for weights ignore the updates' weights. After `mean`, `left_out` has the numbers of
    the updates that a rule which chooses updates did not use, in the order of `add`; empty for other rules.
    `rule` may be replaced until then.
    """

    def __init__(self, rule: Aggregator, buffer: UpdateBuffer) -> None:
        self.rule, self._buffer = rule, buffer
        self._weights: list[float] = []
        self.left_out: list[int] = []

    @property
    def count(self) -> int:
        """Number of updates."""
        return len(self._weights)

    def add(self, update: Vector, weight: int) -> None:
        """Counts `update` (shape [size], unchanged) with `weight` > 0.

        Raises ValueError for another shape or weight; nothing changes then.
        """
        if weight <= 0:
            raise ValueError(f"A robust mean cannot take an update with the weight {weight}.")
        self._buffer.add(update)
        self._weights.append(float(weight))

    def mean(self) -> Vector64:
        """Returns the aggregate, float64 [size], and frees the updates. Call it once.

        Raises ValueError, with the numbers, for too few updates, and for one that is not finite.
        """
        try:
            self.rule.check(self.count)
            updates = UpdateSet(self._buffer.rows(), self._weights)
            aggregate = self.rule.rule(updates)
            self.left_out = updates.unused or []
            return aggregate
        finally:
            self._buffer.close()

    def close(self) -> None:
        """Frees the updates; `mean` did so already."""
        self._buffer.close()
