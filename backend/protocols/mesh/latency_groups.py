"""Swaps between groups that make the slow links within them fewer and faster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

# The places of a group's members in the matrix of times.
Places: TypeAlias = NDArray[np.intp]
Times: TypeAlias = NDArray[np.float64]

# A sum of times to this power is mostly that of the slowest; the slowest alone would not tell two groups
# that have many such links from two that have few.
POWER = 4
# Looks at two groups at most: a tenth of a second for a thousand peers.
MOST_LOOKS = 4000


def bring_near(groups: Sequence[Places], times: Times, pairs: Sequence[tuple[int, int]]) -> list[Places]:
    """`groups` after swaps of two members of two groups, the best first, until none helps.

    A swap helps when it lowers the sum of all links' times within groups, each to the power POWER (a turn of
    Kernighan and Lin 1970, "An efficient heuristic procedure for partitioning graphs"). `times` [n, n] are
    symmetric and not negative, their diagonal does not count; `pairs` are looked at in turn.
    """
    costs = (times / max(float(times.max()), 1e-9)) ** POWER
    np.fill_diagonal(costs, 0.0)
    swapped = [group.copy() for group in groups]
    looks, since = 0, 0
    while since < len(pairs) and looks < MOST_LOOKS:
        one, other = (swapped[index] for index in pairs[looks % len(pairs)])
        since = 0 if _swap(one, other, costs) else since + 1
        looks += 1
    return swapped


def _swap(one: Places, other: Places, costs: Times) -> bool:
    """Makes the best swap between two groups; whether there was one that helps."""
    across = costs[np.ix_(one, other)]
    # What each member costs where it is, less what it would cost over there.
    ours = costs[np.ix_(one, one)].sum(axis=1) - across.sum(axis=1)
    theirs = costs[np.ix_(other, other)].sum(axis=1) - across.sum(axis=0)
    gains = ours[:, None] + theirs + 2 * across
    leaves, comes = np.unravel_index(int(gains.argmax()), gains.shape)
    # Not for rounding errors: swaps would never end.
    if gains[leaves, comes] <= 1e-9 * (1e-9 + across.sum()):
        return False
    one[leaves], other[comes] = other[comes], one[leaves]
    return True
