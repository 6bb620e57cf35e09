"""Who averages with whom in a round, and which part of the vector each member reduces.

Pure functions: `seed` and the round's number stand for chance. "Groups" in docs/reference/mesh.md.
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

# Every so many rounds, groups are random also where near ones are wanted: so all weights mix.
MIXING = 4
# Bounds of parts are multiples of it where there are enough values: a scale of int8 is shared by so many.
ALIGNED = 1024
# Up to so many members and bytes everybody sends everything to everybody: one trip instead of two.
FULL_MEMBERS = 4
FULL_BYTES = 1 << 20

Groups: TypeAlias = list[list[str]]
# (seconds there and back, bytes per second or 0 where unknown) of the links that are known, either way round.
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
    """Groups of `peers`, each of `fewest` to `most` members, for round `number`.

    `kind` is "random", "grid" or "near"; `size` are the bytes that a member sends in a round, for which
    links are compared. Nobody is left over: with `most` = 2 and an odd number of peers one group has three,
    and with 3 to 3 members five peers make one group. Fewer peers than make a group make none.
    """
    if len(peers) < fewest:
        return []
    if kind == "grid":
        return _none_too_small(grid_groups(peers, most, seed, number), fewest)
    groups = random_groups(peers, most, seed, number, fewest)
    if kind == "random" or number % MIXING == 0 or len(groups) < 2:
        return groups
    return near_groups(groups, seed, number, links, size)


def random_groups(peers: Sequence[str], most: int, seed: int, number: int, fewest: int) -> Groups:
    """A shuffle of `peers`, cut into groups that differ by at most one member."""
    shuffled = _shuffled(peers, seed, number)
    count = max(1, min(math.ceil(len(peers) / most), len(peers) // fewest))
    return [shuffled[start::count] for start in range(count)]


def grid_groups(peers: Sequence[str], most: int, seed: int, number: int) -> Groups:
    """Rows of a grid along another axis each round (Ryabinin et al. 2021, "Moshpit SGD", alg. 2).

    Peers keep their coordinates from round to round while nobody comes or goes. Where the grid is full, all
    have the mean of all after as many rounds as it has axes.
    """
    fixed = _shuffled(peers, seed, 0)
    axes = max(1, math.ceil(round(math.log(len(peers), most), 9)))
    side = math.ceil(round(len(peers) ** (1 / axes), 9))
    stride = side ** (number % axes)
    rows: dict[int, list[str]] = {}
    for place, peer in enumerate(fixed):
        rows.setdefault(place - place // stride % side * stride, []).append(peer)
    return list(rows.values())


def near_groups(groups: Groups, seed: int, number: int, links: Links, size: int) -> Groups:
    """`groups` with members swapped so that the slowest links within them get faster (latency_groups.py)."""
    peers = [peer for group in groups for peer in group]
    ends = np.cumsum([0, *map(len, groups)])
    places = [np.arange(start, end) for start, end in pairwise(ends.tolist())]
    pairs = list(combinations(range(len(groups)), 2))
    order = philox.permutation(seed, number + 1, len(pairs))
    swapped = bring_near(places, _times(peers, links, size), [pairs[turn] for turn in order])
    return [[peers[place] for place in group] for group in swapped]


def _none_too_small(groups: Groups, fewest: int) -> Groups:
    """Who would be too few take a member of the largest group, or go to the smallest where none can give."""
    groups = sorted(groups, key=len)
    while len(groups) > 1 and len(groups[0]) < fewest:
        few = groups.pop(0)
        if len(groups[-1]) > fewest:
            groups.append([*few, groups[-1].pop()])
        else:
            groups[0].extend(few)
        groups.sort(key=len)
    return groups


def _times(peers: Sequence[str], links: Links, size: int) -> NDArray[np.float64]:
    """Seconds that `size` bytes take between any two [peers, peers]; the median where nothing is known."""
    index = {peer: place for place, peer in enumerate(peers)}
    known = [
        (index[one], index[other], seconds, rate)
        for (one, other), (seconds, rate) in links.items()
        if one in index and other in index
    ]
    usual = float(np.median([rate for *_, rate in known if rate > 0] or [math.inf]))
    times = np.full((len(peers), len(peers)), math.nan)
    for one, other, seconds, rate in known:
        took = seconds + size / (rate or usual)
        # Both ends told of it: the slower direction counts.
        times[one, other] = times[other, one] = np.fmax(times[one, other], took)
    return np.nan_to_num(times, nan=float(np.nanmedian(times)) if known else 0.0)


def part_bounds(values: int, rates: Sequence[float]) -> list[int]:
    """Where the parts of `values` begin and end, part i for the member with `rates[i]` bytes per second.

    A member of n that owns the share p sends 1 - p of pieces and (n - 1) p of means, and takes as much: in
    all 1 + (n - 2) p. The slowest is done earliest when all are done at once, or have no part (the load
    balancing of Ryabinin et al. 2021, section 3.2, in closed form). A rate of 0 is unknown and taken for the
    median. Every part has at least one value, where there are enough.
    """
    aligned = ALIGNED if values >= 2 * ALIGNED * len(rates) else 1
    units = values // aligned
    least = min(1, units // len(rates))
    spread = units - least * len(rates)
    ends = np.cumsum(_shares(rates)) * spread + least * np.arange(1, len(rates) + 1)
    return [0, *(aligned * int(end + 0.5) for end in ends[:-1]), values]


def _shares(rates: Sequence[float]) -> list[float]:
    """Each one's share of the work, so that (1 + (n - 2) share) / rate is the same for all who have one."""
    known = [rate for rate in rates if 0 < rate < math.inf]
    usual = float(np.median(known)) if known else 1.0
    speeds = [rate if 0 < rate < math.inf else usual for rate in rates]
    members = len(speeds)
    if members == 2:  # Both send everything once, whoever reduces.
        return [0.5, 0.5]
    # Who would not be done with sending pieces when all others are done has no part.
    working = sorted(speeds)
    while (members - 2 + len(working)) * working[0] < sum(working):
        working.pop(0)
    seconds = (members - 2 + len(working)) / sum(working)
    return [max(0.0, (seconds * speed - 1) / (members - 2)) for speed in speeds]


def choose_exchange(setting: str, members: int, size: int, reducer: str) -> str:
    """How so many members exchange `size` bytes each: as `setting` says, or as suits if it is auto."""
    if setting != "auto":
        return setting
    small = members <= FULL_MEMBERS and size <= FULL_BYTES
    return "full" if small and reducer == "mean" else "butterfly"


def _shuffled(peers: Sequence[str], seed: int, number: int) -> list[str]:
    """The peers in an order that depends on them, `seed` and `number` alone."""
    ordered = sorted(peers)
    return [ordered[place] for place in philox.permutation(seed, number, len(ordered))]
