"""How many rounds pass until every liar is banned, and what chance alone gives."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from random import Random
from typing import Any

from benchmarks.btard.local_mesh import LocalMesh
from benchmarks.btard.mesh_training import train_in_mesh
from benchmarks.btard.picture_task import PictureTask
from benchmarks.btard.trial import Trial
from benchmarks.btard.work_attacks import AttackPlan

_START, _MOST_ROUNDS = 3, 600
# A validator accuses one round after the work; the court bans one round later.
_DELAY = 3
_DRAWS = 4000


def ban_rows(
    task: PictureTask, peers: int, byzantine: int, validators: Sequence[int], runs: int
) -> list[dict[str, Any]]:
    """Returns a row for each number of validators: rounds from the attack to the last ban."""
    return [_row(task, peers, byzantine, count, runs) for count in validators]


def _row(task: PictureTask, peers: int, byzantine: int, validators: int, runs: int) -> dict[str, Any]:
    results = [
        train_in_mesh(
            LocalMesh(
                Trial(
                    task,
                    _MOST_ROUNDS,
                    seed,
                    peers=peers,
                    byzantine=byzantine,
                    attack=AttackPlan("ipm-0.1", _START),
                    validators=validators,
                )
            ),
            until_banned=True,
        )
        for seed in range(runs)
    ]
    last = [one.rounds_to_last_ban or _MOST_ROUNDS for one in results]
    return {
        "validators": validators,
        "runs": runs,
        "rounds_to_last_ban": round(statistics.mean(last), 1),
        "deviation_of_mean": round(statistics.stdev(last) / len(last) ** 0.5, 1) if runs > 1 else None,
        "chance": round(chance_rounds(peers, byzantine, validators), 1),
        "banned": min(one.banned for one in results),
        "banned_honest": sum(one.banned_honest for one in results),
        "different_bits": sum(one.different_bits for one in results),
    }


def chance_rounds(peers: int, byzantine: int, validators: int) -> float:
    """Returns the mean number of rounds until the last ban if validators and targets are drawn by chance.

    Every honest validator finds every lie; liars that are drawn find nothing.
    """
    random, total = Random(1), 0
    for _ in range(_DRAWS):
        liars, honest, rounds = set(range(byzantine)), list(range(byzantine, peers)), 0
        banned = dict[int, int]()
        while liars:
            drawn = random.sample([*sorted(liars), *honest], len(liars) + len(honest))
            judges, targets = drawn[:validators], drawn[validators : 2 * validators]
            for judge, target in zip(judges, targets, strict=True):
                if judge not in liars and target in liars:
                    banned.setdefault(target, rounds + _DELAY)
            rounds += 1
            liars = {one for one in liars if banned.get(one, rounds) >= rounds}
        total += max(banned.values())
    return total / _DRAWS
