"""Colluding attackers send updates that make an honest client's look false (slander).

In a real training on digits three of ten aim at the client with a single rare class, who is the easiest
victim: they send the reverse of its update, or gather at the centre of the others, so that it looks far.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from backend.commands.build import build_task
from backend.lab.attacks.attack import AttackedRound, UpdateAttack
from backend.lab.robustness.attack_plan import AttackPlan
from backend.lab.robustness.attacked_training import RobustnessLab
from backend.lab.robustness.judged_training import JudgedTraining
from backend.lab.robustness.robustness_task import open_robustness_task
from backend.numerics.reputation.suspicion import LIMIT
from tests.support.attacks.judged_training import run, with_rare_class
from tests.support.timeouts import HEAVY

pytestmark = [pytest.mark.tensorflow, pytest.mark.timeout(HEAVY)]

MODELS = Path(__file__).parents[4] / "models"
CLIENTS, ATTACKERS, VICTIM = 10, 3, -1
Forge = Callable[[AttackedRound], NDArray[np.float64]]


@pytest.fixture(scope="module")
def lab() -> RobustnessLab:
    build_task(MODELS / "digits")
    return RobustnessLab(open_robustness_task(MODELS / "digits" / "task.toml"))


def opposite(known: AttackedRound) -> NDArray[np.float64]:
    """The victim's update, reversed."""
    reverse: NDArray[np.float64] = -known.honest[VICTIM].astype(np.float64)
    return reverse


def opposite_and_popular(known: AttackedRound) -> NDArray[np.float64]:
    """What all others have in common, without the victim's part: it pulls the others away from the victim."""
    victim = known.honest[VICTIM].astype(np.float64)
    others = known.honest[:VICTIM].mean(axis=0, dtype=np.float64)
    turned: NDArray[np.float64] = others - 2.0 * (others @ victim) / (victim @ victim) * victim
    return turned


def centre(known: AttackedRound) -> NDArray[np.float64]:
    """The mean of all others: the usual distance shrinks."""
    mean: NDArray[np.float64] = known.honest[:VICTIM].mean(axis=0, dtype=np.float64)
    return mean


@pytest.mark.parametrize(
    ("forge", "rounds"),
    [
        (opposite, 5),
        pytest.param(opposite, 15, marks=pytest.mark.long),
        pytest.param(opposite_and_popular, 15, marks=pytest.mark.long),
        pytest.param(centre, 15, marks=pytest.mark.long),
    ],
)
def test_a_third_of_the_clients_cannot_make_a_rare_class_suspect(
    lab: RobustnessLab, forge: Forge, rounds: int
) -> None:
    attack = UpdateAttack("slander", lambda known: known.all_send(forge(known)))
    parts = with_rare_class(lab, CLIENTS, 0.3, 1)
    training = JudgedTraining(lab, parts, ATTACKERS, AttackPlan("slander", update=attack), 1)
    run(training, rounds)
    assert training.highest[ATTACKERS:].max() < LIMIT / 2
