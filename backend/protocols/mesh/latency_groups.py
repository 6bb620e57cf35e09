"""Swaps members between groups so that slow links within groups become fewer and faster."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from backend.wire.mesh_messages import Measure

# The places of a group's members in the matrix of times.
Places: TypeAlias = NDArray[np.intp]
Times: TypeAlias = NDArray[np.float64]

# The slowest links dominate a sum of times to this power. The slowest link alone would not distinguish groups
# with many slow links from groups with few.
POWER = 4
# Most pairs of groups to examine: a tenth of a second for a thousand peers.
MAX_ATTEMPTS = 4000


def bring_near(groups: Sequence[Places], times: Times, pairs: Sequence[tuple[int, int]]) -> list[Places]:
    """Returns `groups` after swaps of two members of two groups, the best first, until none helps.

    A swap helps if it lowers the sum of all links' times within groups, each to the power POWER (a step of
    Kernighan and Lin 1970, "An efficient heuristic procedure for partitioning graphs"). `times` [n, n] are
    symmetric and not negative; the diagonal is ignored. `pairs` are examined cyclically.
    """
    costs = (times / max(float(times.max()), 1e-9)) ** POWER
    np.fill_diagonal(costs, 0.0)
    swapped = [group.copy() for group in groups]
    attempts, without_swap = 0, 0
    while without_swap < len(pairs) and attempts < MAX_ATTEMPTS:
        first, second = (swapped[index] for index in pairs[attempts % len(pairs)])
        without_swap = 0 if _swap(first, second, costs) else without_swap + 1
        attempts += 1
    return swapped


def _swap(first: Places, second: Places, costs: Times) -> bool:
    """Makes the best swap between two groups; returns whether one helped."""
    across = costs[np.ix_(first, second)]
    # Each member's cost in its own group, less its cost in the other group.
    ours = costs[np.ix_(first, first)].sum(axis=1) - across.sum(axis=1)
    theirs = costs[np.ix_(second, second)].sum(axis=1) - across.sum(axis=0)
    gains = ours[:, None] + theirs + 2 * across
    leaves, comes = np.unravel_index(int(gains.argmax()), gains.shape)
    # A tolerance, because rounding errors could make swaps endless.
    if gains[leaves, comes] <= 1e-9 * (1e-9 + across.sum()):
        return False
    first[leaves], second[comes] = second[comes], first[leaves]
    return True


def plausible_links(links: Iterable[Measure]) -> dict[str, tuple[float, float]]:
    """Returns round-trip seconds and bytes per second by other peer, without impossible measurements."""
    return {
        link.client: (link.seconds, link.rate)
        for link in links
        if 0.0 <= link.seconds < 3600.0 and 0.0 <= link.rate < 1e12
    }
