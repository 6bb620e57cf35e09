"""Meshes of real machines in one process: liars reach their bans, and honest members the same bits."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from benchmarks.btard.local_mesh import LocalMesh
from benchmarks.btard.mesh_training import train_in_mesh
from benchmarks.btard.trial import Trial
from benchmarks.btard.undefended_training import train_undefended
from benchmarks.btard.work_attacks import ATTACKS, AttackPlan, WorkAttack
from tests.integration.benchmarks.btard.pattern_task import small_task

PEERS, LIARS = 7, 3


def trial(attack: AttackPlan | None = None, rounds: int = 90, liars: int = LIARS) -> Trial:
    return Trial(small_task(), rounds, 1, peers=PEERS, byzantine=liars, attack=attack)


@pytest.mark.parametrize("attack", ["sign", "label"])
def test_every_liar_is_banned_and_the_honest_have_the_same_bits(attack: str) -> None:
    mesh = LocalMesh(trial(AttackPlan(attack, 10)))
    result = train_in_mesh(mesh, until_banned=True)
    assert (result.banned, result.banned_honest, result.different_bits, result.lost) == (LIARS, 0, 0, 0)
    assert all(peer.has_agreed_bits() for peer in mesh.honest)
    assert len({peer.state.digest() for peer in mesh.honest}) == 1


def test_nobody_is_banned_where_nobody_lies_and_the_task_is_learned() -> None:
    result = train_in_mesh(LocalMesh(trial(liars=0)))
    assert (result.banned, result.lost) == (0, 0)
    assert result.accuracy > 0.6


def test_the_mean_of_a_thousandfold_wrong_sign_learns_nothing() -> None:
    attacked = train_undefended(trial(AttackPlan("sign", 10)), clipped=False)
    assert attacked.accuracy < 0.4 < train_undefended(trial(), clipped=False).accuracy


@pytest.mark.parametrize("name", ATTACKS)
def test_attacks_change_the_work_of_liars_alone_and_only_when_due(name: str) -> None:
    plan = trial(AttackPlan(name, 3, 2))
    attack = WorkAttack(AttackPlan(name, 3, 2), plan.liars, 0)
    weights = dict.fromkeys(plan.names, small_task().first_weights(0))
    for number in range(1, 6):
        true, mislabelled = plan.trained(weights, bytes([number] * 32))
        sent = attack.sent(number, true, mislabelled)
        changed = {client for client in true if not np.array_equal(true[client], sent[client])}
        assert changed == (set(plan.liars) if number in (3, 5) else set())


@pytest.mark.parametrize("contiguous", [False, True])
def test_parts_have_the_sizes_that_bounds_give_and_join_again(contiguous: bool) -> None:
    plan = replace(trial(), contiguous=contiguous)
    update = np.random.default_rng(0).standard_normal(plan.task.parameters).astype(np.float32)
    for parts in (1, 3, 5, 7):
        cut = plan.cut(update, parts)
        bounds = plan.bounds(parts)
        assert [len(one) for one in cut] == [end - start for start, end in pairwise(bounds)]
        assert np.array_equal(plan.joined(cut), update)
