"""What averaging in groups and push-sum gossip cost until all peers agree, with and without leavers.

Each peer starts with a number drawn from N(0, 1). In a round each peer leaves for good with the chance
`leave`. A group replaces its numbers by their mean (butterfly all-reduce: each member sends a piece to each
other one, and the mean of its own part: 2 (n - 1) / n vectors in 2 (n - 1) messages). A group that loses a
member does the whole exchange again without it, which is the most that this costs. Push-sum (Kempe, Dobra,
Gehrke 2003, fig. 1) sends half of each sum and weight to a random peer: one vector and its receipt. A push
to a peer that left is taken back.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from backend.protocols.mesh.grouping import form_groups
from backend.wire.mesh_fields import MOST_IN_GROUP

AGREED = 1e-3
MOST_ROUNDS = 200


@dataclass(frozen=True)
class Mixing:
    """Until the standard deviation of the numbers is below `AGREED`: rounds, and costs of a peer that stays.

    `vectors` and `messages` are what a peer sends on average; `error` is how far the peers' mean then lies
    from the mean of all numbers at the start.
    """

    rounds: int
    vectors: float
    messages: float
    error: float


class Leavers:
    """Who is present, and who leaves in a round. The last two peers stay."""

    def __init__(self, peers: int, leave: float, seed: int) -> None:
        self._random = random.Random(seed)
        self._leave = leave
        self.names = [f"{place:016x}" for place in range(peers)]

    def draw(self) -> set[str]:
        """Those that leave in the next round; `names` are then those that stay."""
        leavers = {name for name in self.names[2:] if self._random.random() < self._leave}
        self.names = [name for name in self.names if name not in leavers]
        return leavers


def mix_in_groups(kind: str, peers: int, most: int, leave: float, seed: int) -> Mixing:
    """Groups of `kind` of at most `most` members; "all" is one group of everybody."""
    leavers = Leavers(peers, leave, seed)
    numbers = dict(zip(leavers.names, _start(peers, seed), strict=True))
    mean, vectors, messages = float(np.mean(list(numbers.values()))), 0.0, 0.0
    for number in range(1, MOST_ROUNDS + 1):
        present = list(leavers.names)
        groups = [present] if kind == "all" else form_groups(kind, present, most, seed, number, {}, 0)
        left = leavers.draw()
        count = len(leavers.names)
        for group in groups:
            members = [peer for peer in group if peer not in left]
            if not members:
                continue
            numbers.update(dict.fromkeys(members, sum(numbers[peer] for peer in members) / len(members)))
            for size in [len(group)] if len(members) == len(group) else [len(group), len(members)]:
                vectors += 2 * (size - 1) / size * len(members) / count
                messages += 2 * (size - 1) * len(members) / count
        values = np.array([numbers[peer] for peer in leavers.names])
        if values.std() < AGREED:
            return Mixing(number, vectors, messages, abs(float(values.mean()) - mean))
    raise AssertionError(f"The numbers did not agree in {MOST_ROUNDS} rounds.")


def mix_by_push_sum(peers: int, leave: float, seed: int) -> Mixing:
    """A round is one push of each peer."""
    leavers = Leavers(peers, leave, seed)
    places = {name: place for place, name in enumerate(leavers.names)}
    sums, weights = _start(peers, seed), np.ones(peers)
    mean = float(sums.mean())
    lots = np.random.default_rng(seed)
    for number in range(1, MOST_ROUNDS + 1):
        present = np.array([places[name] for name in leavers.names])
        leavers.draw()
        staying = np.array([places[name] for name in leavers.names])
        # To any of the others that were present when the round began.
        skip = lots.integers(1, len(present), len(present))
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
    raise AssertionError(f"The estimates did not agree in {MOST_ROUNDS} rounds.")


def mixing_rows(seeds: int) -> list[dict[str, float | str]]:
    """Medians over `seeds` drawings for each number of peers, way of averaging and chance to leave."""
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
