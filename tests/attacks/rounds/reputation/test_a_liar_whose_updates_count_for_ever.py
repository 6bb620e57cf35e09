"""Attackers send false updates in every round of a real training on skewed digits.

Three of ten attack; one of the honest clients has a single rare class, and one is a slow phone that is late
in two of three rounds. The attackers are in quarantine within six rounds, and no honest client ever is.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from backend.commands.build import build_task
from backend.formats.task_file import RobustTable
from backend.lab.robustness.attack_plan import plan_attack
from backend.lab.robustness.attacked_training import RobustnessLab
from backend.lab.robustness.judged_training import JudgedTraining, Late
from backend.lab.robustness.robustness_task import open_robustness_task
from backend.numerics.reputation.suspicion import LIMIT
from tests.support.attacks.judged_training import run, with_rare_class
from tests.support.timeouts import HEAVY

pytestmark = [pytest.mark.tensorflow, pytest.mark.timeout(HEAVY)]

MODELS = Path(__file__).parents[4] / "models"
CLIENTS, ATTACKERS, ALPHA, SEED = 10, 3, 0.3, 1
SLOW_PHONE = Late(8)
RULES = [None, RobustTable("trimmed-mean", ATTACKERS, before=("nnm",)), RobustTable("multi-krum", ATTACKERS)]


@pytest.fixture(scope="module")
def lab() -> RobustnessLab:
    build_task(MODELS / "digits")
    return RobustnessLab(open_robustness_task(MODELS / "digits" / "task.toml"))


def judged(
    lab: RobustnessLab, attack: str, seed: int = SEED, table: RobustTable | None = None, skewed: bool = True
) -> JudgedTraining:
    parts = with_rare_class(lab, CLIENTS, ALPHA, seed) if skewed else lab.task.split(CLIENTS, None, seed)
    plan = plan_attack(attack, lab.task, seed)
    return JudgedTraining(lab, parts, ATTACKERS, plan, seed, table, SLOW_PHONE)


def test_a_reversed_update_stops_counting_and_the_model_learns(lab: RobustnessLab) -> None:
    training = judged(lab, "sign-flip")
    assert run(training, 6) > 0.6
    assert set(training.quarantined) == {0, 1, 2}
    assert training.highest[ATTACKERS:].max() < LIMIT / 2


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("table", RULES, ids=["mean", "trimmed-mean", "multi-krum"])
def test_no_honest_client_is_suspect_where_nobody_attacks(
    lab: RobustnessLab, seed: int, table: RobustTable | None
) -> None:
    training = judged(lab, "none", seed, table)
    run(training, 20)
    assert training.highest.max() < LIMIT / 2


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(
    "attack", ["sign-flip", "scaled", "gaussian-noise", "nan", "stale-replay", "inner-product"]
)
def test_attackers_stop_counting_within_six_rounds_and_nobody_else_does(
    lab: RobustnessLab, attack: str, seed: int
) -> None:
    training = judged(lab, attack, seed)
    run(training, 6)
    assert set(training.quarantined) == {0, 1, 2}
    assert training.highest[ATTACKERS:].max() < LIMIT


@pytest.mark.long
@pytest.mark.parametrize("table", RULES, ids=["mean", "trimmed-mean", "multi-krum"])
def test_a_replaced_model_stops_counting_where_clients_train_equally_long(
    lab: RobustnessLab, table: RobustTable | None
) -> None:
    training = judged(lab, "model-replacement", table=table, skewed=False)
    run(training, 6)
    assert set(training.quarantined) == {0, 1, 2}
    assert training.highest[ATTACKERS:].max() < LIMIT


@pytest.mark.long
@pytest.mark.parametrize("attack", ["alie", "label-flip", "free-rider", "min-max", "model-replacement"])
def test_what_gives_little_evidence_brings_no_honest_client_into_quarantine(
    lab: RobustnessLab, attack: str
) -> None:
    training = judged(lab, attack)
    run(training, 10)
    assert set(training.quarantined) <= {0, 1, 2}
    assert np.all(training.highest[ATTACKERS:] < LIMIT)
