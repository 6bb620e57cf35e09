"""Digits of the gallery's task, trained while participants attack, with and without a rule against them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from backend.commands.build import build_task
from backend.errors import SettingsError, TaskFileError
from backend.lab.robustness.attack_plan import plan_attack
from backend.lab.robustness.attacked_training import AttackedRoundOutcome, AttackedTraining, RobustnessLab
from backend.lab.robustness.robustness_task import RobustnessTask, open_robustness_task
from backend.lab.robustness.rule_names import rule_of
from backend.peer.data.shards import Examples
from tests.support.timeouts import HEAVY

pytestmark = [pytest.mark.tensorflow, pytest.mark.timeout(HEAVY)]

MODELS = Path(__file__).parents[4] / "models"
CLIENTS, ATTACKERS, ROUNDS = 7, 2, 4


@pytest.fixture(scope="module")
def task() -> RobustnessTask:
    build_task(MODELS / "digits")
    return open_robustness_task(MODELS / "digits" / "task.toml")


@pytest.fixture(scope="module")
def lab(task: RobustnessTask) -> RobustnessLab:
    return RobustnessLab(task)


def training(
    lab: RobustnessLab,
    attack: str,
    rule: str | None = None,
    attackers: int = ATTACKERS,
    clients: int = CLIENTS,
    groups: int = 0,
) -> AttackedTraining:
    parts, chosen = lab.task.split(clients, None, 1), plan_attack(attack, lab.task, 1)
    made = partial(rule_of, rule) if rule else None
    return AttackedTraining(lab, parts, attackers, chosen, made, 1, groups)


def outcomes(lab: RobustnessLab, attack: str, rule: str | None = None) -> list[AttackedRoundOutcome]:
    return list(training(lab, attack, rule).run(ROUNDS))


def test_updates_ten_times_too_long_hold_back_the_mean_and_not_the_trimmed_mean(lab: RobustnessLab) -> None:
    clean = outcomes(lab, "none")[-1].accuracy
    attacked = outcomes(lab, "scaled")[-1].accuracy
    defended = outcomes(lab, "scaled", "trimmed-mean")[-1].accuracy
    assert clean > 0.9
    assert attacked < clean - 0.1
    assert defended > clean - 0.05


def test_masked_groups_are_defended_without_a_single_update(lab: RobustnessLab) -> None:
    """One attacker of 15 in five groups of three; it does not clip, and nobody sees that."""
    clean = list(training(lab, "none", clients=15).run(ROUNDS))[-1].accuracy
    run = training(lab, "scaled", "trimmed-mean", attackers=1, clients=15, groups=5)
    outcomes = list(run.run(ROUNDS))
    assert outcomes[-1].accuracy > clean - 0.05
    assert [(one.refused, one.abandoned) for one in outcomes] == [(0, None)] * ROUNDS


def test_a_training_follows_from_its_seed(lab: RobustnessLab) -> None:
    first, again = (training(lab, "alie", "nnm+median") for _ in range(2))
    assert list(first.run(2)) == list(again.run(2))
    np.testing.assert_array_equal(first.weights, again.weights)


def test_the_servers_mean_is_the_rule_of_that_name(lab: RobustnessLab) -> None:
    """Of clients with as many examples each: a rule counts updates, the mean their examples."""
    host, rule = training(lab, "none", clients=10), training(lab, "none", "mean", clients=10)
    host.round(0)
    rule.round(0)
    np.testing.assert_allclose(host.weights, rule.weights, atol=1e-6)


def test_malformed_updates_are_refused_and_no_longer_counted_as_false(lab: RobustnessLab) -> None:
    # Krum bears 2 false ones of 7; of the 5 that remain, none.
    for attack in ("nan", "infinity", "gaussian-noise"):
        outcome = training(lab, attack, "krum").round(0)
        assert (outcome.refused, outcome.abandoned) == (2, None)


def test_honest_updates_that_a_rule_does_not_use_are_counted(lab: RobustnessLab) -> None:
    # Multi-Krum leaves out 2 of 7: the attackers, whose updates are far from all others, and no more.
    assert training(lab, "scaled", "multi-krum").round(0).honest_ejections == 0
    # Krum uses one honest update of five.
    assert training(lab, "scaled", "krum").round(0).honest_ejections == 4
    assert training(lab, "scaled", "trimmed-mean").round(0).honest_ejections == 0


def test_a_round_with_too_few_updates_for_its_rule_leaves_the_version(lab: RobustnessLab) -> None:
    run = training(lab, "sign-flip", "bulyan")
    outcome = run.round(0)
    assert outcome.abandoned is not None
    assert "needs at least 11 updates and got 7" in outcome.abandoned
    np.testing.assert_array_equal(run.weights, lab.task.weights)


@pytest.mark.parametrize("attack", ["model-replacement", "trigger-backdoor", "edge-case-backdoor"])
def test_a_backdoor_is_measured_on_its_own_examples(lab: RobustnessLab, attack: str) -> None:
    outcome = training(lab, attack).round(0)
    assert outcome.backdoor is not None
    assert 0.0 <= outcome.backdoor <= 1.0


def test_clients_split_the_examples_evenly_or_by_class(task: RobustnessTask) -> None:
    for alpha in (None, 0.3):
        parts = task.split(CLIENTS, alpha, 2)
        assert sorted(np.concatenate(parts).tolist()) == list(range(len(task.train)))
    largest = [np.bincount(task.train.y[0][part]).max() / len(part) for part in parts]
    assert np.mean(largest) > 0.2


def test_what_cannot_be_attacked_is_refused_in_words(lab: RobustnessLab) -> None:
    with pytest.raises(SettingsError, match="There is no attack shouting"):
        plan_attack("shouting", lab.task, 1)
    with pytest.raises(ValueError, match="cannot be the attackers"):
        training(lab, "sign-flip", attackers=0)
    with pytest.raises(TaskFileError, match="take fewer"):
        lab.task.split(10**6, None, 0)
    with pytest.raises(TaskFileError, match="stay with volunteers"):
        open_robustness_task(MODELS.parent / "starters" / "image" / "task.toml")
    with pytest.raises(TaskFileError, match="scheme of this task is volunteer"):
        open_robustness_task(MODELS / "text-lstm" / "task.toml")
    masked = (
        'security.aggregation=["masked"]',
        "coordination.min_available_clients=8",
        "coordination.quorum=8",
    )
    with pytest.raises(TaskFileError, match="its updates are masked, and rules compare single updates"):
        open_robustness_task(MODELS / "digits" / "task.toml", masked)


def test_attacks_on_pictures_do_not_fit_other_examples(task: RobustnessTask) -> None:
    flat, held_out = (
        Examples((part.x[0].reshape(len(part), -1),), part.y, part.sample_weight)
        for part in (task.train, task.held_out)
    )
    rows = replace(task, train=flat, held_out=held_out)
    with pytest.raises(SettingsError, match=r"trigger-backdoor does not fit this task.*Take label-flip"):
        plan_attack("trigger-backdoor", rows, 1)
    assert plan_attack("label-flip", rows, 1).data is not None
