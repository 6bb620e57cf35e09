"""Makes the version that another rule would have made of one round's kept updates. Pure arithmetic."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from backend.errors import AggregationError
from backend.numerics.aggregation.server_optimizers import ServerOptimizer
from backend.numerics.aggregation.update_checks import all_finite
from backend.numerics.aggregators.composition import Aggregator
from backend.numerics.aggregators.update_set import UpdateSet
from backend.numerics.vectors import Vector
from backend.stores.updates.kept_rounds import KeptRows


@dataclass(frozen=True)
class ReaggregatedRound:
    """Weights [parameters] and the server optimizer's state after the round, and whom the rule left out."""

    weights: Vector
    state: Vector
    left_out: tuple[str, ...] = ()


def reaggregate(
    kept: KeptRows,
    rule: Aggregator,
    is_weighted: bool,
    before: ReaggregatedRound,
    optimizer: ServerOptimizer,
    trainable: int,
) -> ReaggregatedRound:
    """Returns what the round's updates make of `before` by the rule.

    Updates have their weights if `is_weighted`, else each counts once (decision 0090). Takes too long for the
    event loop. Raises AggregationError with the reason, or StoreError.
    """
    updates = kept.round.updates
    weights = [one.weight for one in updates] if is_weighted else None
    given = UpdateSet(kept.rows, weights)
    try:
        rule.check(len(given))
        mean = rule.rule(given)
    except ValueError as error:
        raise AggregationError(f"Round {kept.round.round}: {error}") from error
    left_out = tuple(updates[number].client for number in given.unused or [])
    with np.errstate(over="ignore", invalid="ignore"):
        after, state = optimizer(before.weights, mean, before.state, trainable)
    if not all_finite(after) or not all_finite(state):
        raise AggregationError(f"Round {kept.round.round}: the version would hold infinity.")
    return ReaggregatedRound(after, state, left_out)
