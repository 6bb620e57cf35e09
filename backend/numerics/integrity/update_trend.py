"""Follows over rounds whether a minority of the updates pushes in another direction than the rest.

Of each round remains how far a minority of its updates stands apart, and where it points. Clients that train
on poisoned examples point there again and again. So do honest clients with rare classes: what is found here
is a reason to look, no proof.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from backend.numerics.integrity.update_clusters import MIN_UPDATES, directions, update_clusters
from backend.numerics.vectors import Vector64

# Values of a sketch: cosines of sketches differ from those of the updates by about 1 / sqrt(WIDTH).
WIDTH = 1024
# The last rounds that are compared, and how many of them are needed.
ROUNDS, FEWEST_ROUNDS = 4, 3


@dataclass(frozen=True)
class RoundMinority:
    """A round of `updates`, of which a minority of `members` is apart by `separation` (see UpdateClusters).

    `direction`, float64 [WIDTH], leads from the others' mean direction to theirs, with length 1; zeros
    without a minority.
    """

    updates: int
    members: int
    separation: float
    direction: Vector64


@dataclass(frozen=True)
class UpdateTrend:
    """What the last `rounds` have in common.

    `separation` is the median of theirs, `consistency` the mean cosine between the directions of any two. Of
    `updates` in all rounds, `members` are in the minorities.
    """

    rounds: int
    updates: int
    members: int
    separation: float
    consistency: float

    @property
    def strength(self) -> float:
        """The product of both: 1 for equal updates that point away from the others in every round."""
        return self.separation * max(0.0, self.consistency)


def round_minority(sketches: Vector64) -> RoundMinority | None:
    """Splits a round's `sketches` [updates, WIDTH]; None for fewer than MIN_UPDATES."""
    if len(sketches) < MIN_UPDATES:
        return None
    found, units = update_clusters(sketches), directions(sketches)
    is_member = np.zeros(len(units), np.bool_)
    is_member[list(found.members)] = True
    apart = np.zeros(units.shape[1])
    if found.members:
        apart = units[is_member].mean(axis=0) - units[~is_member].mean(axis=0)
        apart /= np.linalg.norm(apart)
    return RoundMinority(len(units), len(found.members), found.separation, apart)


def update_trend(rounds: Sequence[RoundMinority]) -> UpdateTrend | None:
    """Compares the newest ROUNDS of `rounds`, oldest first; None for fewer than FEWEST_ROUNDS."""
    last = rounds[-ROUNDS:]
    if len(last) < FEWEST_ROUNDS:
        return None
    pointing = np.stack([one.direction for one in last])
    cosines = (pointing @ pointing.T)[np.triu_indices(len(last), 1)]
    return UpdateTrend(
        len(last),
        sum(one.updates for one in last),
        sum(one.members for one in last),
        float(np.median([one.separation for one in last])),
        float(cosines.mean()),
    )
