"""Measures the cost of group averaging and push-sum gossip until all peers agree.

Each peer starts with a number drawn from N(0, 1). In a round each peer leaves permanently with probability
`leave`. A group replaces its numbers by their mean (butterfly all-reduce: each member sends a piece to each
other one, and the mean of its own part: 2 (n - 1) / n vectors in 2 (n - 1) messages). A group that loses a
member repeats the whole exchange without it, an upper bound of the cost. Push-sum (Kempe, Dobra, Gehrke 2003,
fig. 1) sends half of each sum and weight to a random peer: one vector and its receipt. A push to a peer that
left is undone.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from backend.protocols.mesh.grouping import form_groups
from backend.wire.mesh_fields import MOST_IN_GROUP

AGREED = 1e-3
MAX_ROUNDS = 200


@dataclass(frozen=True)
class Mixing:
    """The cost of a staying peer until the numbers' standard deviation is below `AGREED`.

    `vectors` and `messages` are what a peer sends on average; `error` is the distance of the peers' mean at
    the end from the mean of all numbers at the start.
    """

    rounds: int
    vectors: float
    messages: float
    error: float


class Leavers:
    """Tracks which peers are present and which leave in a round; the last two peers stay."""

    def __init__(self, peers: int, leave: float, seed: int) -> None:
        self._random = random.Random(seed)
        self._leave = leave
        self.names = [f"{number:016x}" for number in range(peers)]

    def draw(self) -> set[str]:
        """Draws the peers that leave in the next round; `names` then holds those that stay."""
        leavers = {name for name in self.names[2:] if self._random.random() < self._leave}
        self.names = [name for name in self.names if name not in leavers]
        return leavers


def mix_in_groups(kind: str, peers: int, max_members: int, leave: float, seed: int) -> Mixing:
    """Mixes in groups of `kind` with at most `most` members; "all" is one group of all peers."""
    leavers = Leavers(peers, leave, seed)
    numbers = dict(zip(leavers.names, _start(peers, seed), strict=True))
    mean, vectors, messages = float(np.mean(list(numbers.values()))), 0.0, 0.0
    for number in range(1, MAX_ROUNDS + 1):
        present = list(leavers.names)
        groups = [present] if kind == "all" else form_groups(kind, present, max_members, seed, number, {}, 0)
        gone = leavers.draw()
        count = len(leavers.names)
        for group in groups:
            members = [peer for peer in group if peer not in gone]
            if not members:
                continue
            numbers.update(dict.fromkeys(members, sum(numbers[peer] for peer in members) / len(members)))
            for size in [len(group)] if len(members) == len(group) else [len(group), len(members)]:
                vectors += 2 * (size - 1) / size * len(members) / count
                messages += 2 * (size - 1) * len(members) / count
        values = np.array([numbers[peer] for peer in leavers.names])
        if values.std() < AGREED:
            return Mixing(number, vectors, messages, abs(float(values.mean()) - mean))
    raise AssertionError(f"The numbers did not agree in {MAX_ROUNDS} rounds.")


def mix_by_push_sum(peers: int, leave: float, seed: int) -> Mixing:
    """Mixes by push-sum; a round is one push of each peer."""
    leavers = Leavers(peers, leave, seed)
    indices = {name: index for index, name in enumerate(leavers.names)}
    sums, weights = _start(peers, seed), np.ones(peers)
    mean = float(sums.mean())
    generator = np.random.default_rng(seed)
    for number in range(1, MAX_ROUNDS + 1):
        present = np.array([indices[name] for name in leavers.names])
        leavers.draw()
        staying = np.array([indices[name] for name in leavers.names])
        # Each peer pushes to any other peer present at the start of the round.
        skip = generator.integers(1, len(present), len(present))
        targets = present[(np.arange(len(present)) + skip) % len(present)]
        sent = np.isin(present, staying) & np.isin(targets, staying)
        sources, targets = present[sent], targets[sent]
        shares = sums[sources] / 2, weights[sources] / 2
        for totals, share in zip((sums, weights), shares, strict=True):
            totals[sources] -= share
            np.add.at(totals, targets, share)
        estimates = sums[staying] / weights[staying]
        if estimates.std() < AGREED:
            return Mixing(number, number, 2 * number, abs(float(estimates.mean()) - mean))
    raise AssertionError(f"The estimates did not agree in {MAX_ROUNDS} rounds.")


def mixing_rows(seeds: int) -> list[dict[str, float | str]]:
    """Returns medians over `seeds` draws for each number of peers, method and leave probability."""
    rows: list[dict[str, float | str]] = []
    for peers in (16, 64, 256):
        for leave in (0.0, 0.02):
            for kind in ("all", "random", "grid", "push-sum"):
                if kind == "all" and peers > MOST_IN_GROUP:
                    continue
                runs = [
                    mix_by_push_sum(peers, leave, seed)
                    if kind == "push-sum"
                    else mix_in_groups(kind, peers, 8, leave, seed)
                    for seed in range(seeds)
                ]
                rows.append(
                    {
                        "peers": peers,
                        "leave": leave,
                        "averaging": kind,
                        "rounds": float(np.median([run.rounds for run in runs])),
                        "vectors_sent": round(float(np.median([run.vectors for run in runs])), 2),
                        "messages": round(float(np.median([run.messages for run in runs])), 1),
                        "error": float(f"{np.median([run.error for run in runs]):.2g}"),
                    }
                )
    return rows


def _start(peers: int, seed: int) -> NDArray[np.float64]:
    return np.random.default_rng([seed, 1]).normal(0, 1, peers)
