"""Forms the averaging groups of a round, and partitions the vector among their members.

Pure functions: `seed` and the round's number determine all random choices. docs/reference/mesh.md describes
them under "Groups".
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from backend.numerics import philox
from backend.protocols.mesh.latency_groups import bring_near

# Every MIXING rounds near groups are random, so that all weights mix.
MIXING = 4
# Parts begin at multiples of this if there are enough values: it is the number of values that share an int8
# scale.
ALIGNED = 1024
# Up to this number of members and bytes all members send everything to all: one trip instead of two.
FULL_MEMBERS = 4
FULL_BYTES = 1 << 20

Groups: TypeAlias = list[list[str]]
# (round-trip seconds, bytes per second or 0 if unknown) of the known links, in either direction.
Links: TypeAlias = Mapping[tuple[str, str], tuple[float, float]]


def form_groups(
    kind: str,
    peers: Sequence[str],
    most: int,
    seed: int,
    number: int,
    links: Links,
    size: int,
    fewest: int = 2,
) -> Groups:
    """Forms groups of `peers` for round `number`, each of `fewest` to `most` members.

    `kind` is "random", "grid" or "near"; `size` is the number of bytes that a member sends in a round, for
    which links are compared. Every peer gets a group: with `most` = 2 and an odd number of peers one group
    has three, and with 3 to 3 members five peers make one group. Fewer than `fewest` peers make no group.
    """
    if len(peers) < fewest:
        return []
    if kind == "grid":
        return _merge_small(grid_groups(peers, most, seed, number), fewest)
    groups = random_groups(peers, most, seed, number, fewest)
    if kind == "random" or number % MIXING == 0 or len(groups) < 2:
        return groups
    return near_groups(groups, seed, number, links, size)


def random_groups(peers: Sequence[str], most: int, seed: int, number: int, fewest: int) -> Groups:
    """Shuffles `peers` and cuts them into groups whose sizes differ by at most one."""
    order = shuffled(peers, seed, number)
    count = max(1, min(math.ceil(len(peers) / most), len(peers) // fewest))
    return [order[start::count] for start in range(count)]


def grid_groups(peers: Sequence[str], most: int, seed: int, number: int) -> Groups:
    """Groups by rows of a grid, along another axis each round (Ryabinin et al. 2021, "Moshpit SGD", alg. 2).

    Peers keep their coordinates while the set of peers stays the same. If the grid is full, all peers have
    the mean of all after as many rounds as it has axes.
    """
    fixed = shuffled(peers, seed, 0)
    axes = max(1, math.ceil(round(math.log(len(peers), most), 9)))
    side = math.ceil(round(len(peers) ** (1 / axes), 9))
    stride = side ** (number % axes)
    rows: dict[int, list[str]] = {}
    for place, peer in enumerate(fixed):
        rows.setdefault(place - place // stride % side * stride, []).append(peer)
    return list(rows.values())


def near_groups(groups: Groups, seed: int, number: int, links: Links, size: int) -> Groups:
    """Swaps members of `groups` so that the slowest links within them get faster (latency_groups.py)."""
    peers = [peer for group in groups for peer in group]
    ends = np.cumsum([0, *map(len, groups)])
    places = [np.arange(start, end) for start, end in pairwise(ends.tolist())]
    pairs = list(combinations(range(len(groups)), 2))
    order = philox.permutation(seed, number + 1, len(pairs))
    swapped = bring_near(places, _times(peers, links, size), [pairs[index] for index in order])
    return [[peers[place] for place in group] for group in swapped]


def _merge_small(groups: Groups, fewest: int) -> Groups:
    """Fills groups of under `fewest` members from the largest group, or merges them if it cannot give."""
    groups = sorted(groups, key=len)
    while len(groups) > 1 and len(groups[0]) < fewest:
        small = groups.pop(0)
        if len(groups[-1]) > fewest:
            groups.append([*small, groups[-1].pop()])
        else:
            groups[0].extend(small)
        groups.sort(key=len)
    return groups


def _times(peers: Sequence[str], links: Links, size: int) -> NDArray[np.float64]:
    """Returns the seconds for `size` bytes between any two [peers, peers]; the median for unknown links."""
    index = {peer: place for place, peer in enumerate(peers)}
    measured = [
        (index[source], index[target], seconds, rate)
        for (source, target), (seconds, rate) in links.items()
        if source in index and target in index
    ]
    usual = float(np.median([rate for *_, rate in measured if rate > 0] or [math.inf]))
    times = np.full((len(peers), len(peers)), math.nan)
    for source, target, seconds, rate in measured:
        duration = seconds + size / (rate or usual)
        # If both ends measured the link, the slower direction counts.
        times[source, target] = times[target, source] = np.fmax(times[source, target], duration)
    return np.nan_to_num(times, nan=float(np.nanmedian(times)) if measured else 0.0)


def part_bounds(values: int, rates: Sequence[float]) -> list[int]:
    """Returns the bounds of the parts of `values`, part i for the member with `rates[i]` bytes per second.

    A member of n that owns the share p sends 1 - p of pieces and (n - 1) p of means, 1 + (n - 2) p in all,
    and receives as much. The slowest finishes earliest if all members that have a part finish together (the
    load balancing of Ryabinin et al. 2021, section 3.2, in closed form). A rate of 0 is unknown and replaced
    by the median. Every part has at least one value, if there are enough.
    """
    aligned = ALIGNED if values >= 2 * ALIGNED * len(rates) else 1
    units = values // aligned
    minimum = min(1, units // len(rates))
    spread = units - minimum * len(rates)
    ends = np.cumsum(_shares(rates)) * spread + minimum * np.arange(1, len(rates) + 1)
    return [0, *(aligned * int(end + 0.5) for end in ends[:-1]), values]


def _shares(rates: Sequence[float]) -> list[float]:
    """Returns members' shares of the work; (1 + (n - 2) share) / rate is equal for all with a share."""
    measured = [rate for rate in rates if 0 < rate < math.inf]
    usual = float(np.median(measured)) if measured else 1.0
    speeds = [rate if 0 < rate < math.inf else usual for rate in rates]
    members = len(speeds)
    if members == 2:  # Both send everything once, for any shares.
        return [0.5, 0.5]
    # A member too slow to send its pieces in the time of the others has no part.
    working = sorted(speeds)
    while (members - 2 + len(working)) * working[0] < sum(working):
        working.pop(0)
    seconds = (members - 2 + len(working)) / sum(working)
    return [max(0.0, (seconds * speed - 1) / (members - 2)) for speed in speeds]


def choose_exchange(setting: str, members: int, size: int, reducer: str) -> str:
    """Returns the exchange of `size` bytes each by `members`: the `setting`, or the best if it is auto."""
    if setting != "auto":
        return setting
    small = members <= FULL_MEMBERS and size <= FULL_BYTES
    return "full" if small and reducer == "mean" else "butterfly"


def shuffled(peers: Sequence[str], seed: int, number: int) -> list[str]:
    """Shuffles the peers; the order depends only on their ids, `seed` and `number`."""
    ordered = sorted(peers)
    return [ordered[place] for place in philox.permutation(seed, number, len(ordered))]
