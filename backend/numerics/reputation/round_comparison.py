"""Compares the updates of one round with one another: how far each is from the others, and who opposes it.

An honest client whose examples are of one class is far from most others in every round, and at right angles
to many. So neither distance nor angle is evidence by itself: an update has to be several times as far as
those of two thirds of the clients, or to point against two thirds of the others. A third of the clients
can neither hide behind one another nor bring somebody else there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from backend.numerics.aggregators.centre_rules import geometric_median_factors
from backend.numerics.aggregators.update_set import UpdateSet
from backend.numerics.vectors import Vector64

# With fewer updates a third of them is no group: nothing is compared.
FEWEST = 5
# Cosines nearer to 0 say nothing: directions of different data, or chance.
OPPOSED_COSINE = -0.05


@dataclass(frozen=True)
class RoundComparison:
    """Of each update [n]: `distances` in multiples of the usual one, the share `opposed` of the others."""

    distances: Vector64
    opposed: Vector64


def most_false(count: int) -> int:
    """Returns how many of `count` updates may be false: a third."""
    return count // 3


def compare_round(
    updates: UpdateSet, steps: Sequence[int], voices: Sequence[bool] | None = None
) -> RoundComparison:
    """Compares updates [n, size] whose clients made so many `steps` [n] each.

    The distance is that from the geometric median of all updates, which few false ones move little (Pillutla
    et al. 2022, section 2), by the (n - f)th smallest distance, f = `most_false(n)`: with the median in its
    place, f updates near the centre would make all others look far. With more steps than the median an update
    may be farther in proportion: its length grows at most linearly with its steps. With fewer it may not be
    expected to be nearer, or updates at the centre would make those of few steps look far.

    `opposed` is the share of the other updates that have a cosine below OPPOSED_COSINE and a voice; all have
    one unless given. So clients in quarantine cannot bring others there. Both are 0 for fewer than FEWEST
    updates. Raises ValueError for an update that is not finite.
    """
    count = len(updates)
    if count < FEWEST:
        return RoundComparison(np.zeros(count), np.zeros(count))
    distances = updates.distances
    away = distances.of_point(geometric_median_factors(updates))
    usual = float(np.sort(away)[count - most_false(count) - 1])
    ratios = away / usual if usual > 0.0 else np.zeros(count)
    made = np.asarray(steps, np.float64)
    middle = float(np.median(made))
    if middle > 0.0:
        ratios = ratios / np.maximum(made / middle, 1.0)
    norms = distances.norms
    scale = norms[:, None] * norms
    cosines = np.divide(distances.inner, scale, out=np.zeros_like(scale), where=scale > 0.0)
    np.fill_diagonal(cosines, 1.0)
    heard = np.ones(count, np.bool_) if voices is None else np.asarray(voices, np.bool_)
    opposed = (cosines[:, heard] < OPPOSED_COSINE).sum(axis=1) / (count - 1)
    return RoundComparison(ratios, opposed)
