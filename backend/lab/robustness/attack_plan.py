"""An attack on one task: what attackers train on, what they send, and what honest clients do not have."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from backend.errors import SettingsError
from backend.lab.attacks.attack import DataAttack, UpdateAttack
from backend.lab.attacks.data_attacks import edge_case_backdoor, label_flip, split_edges, trigger_backdoor
from backend.lab.attacks.table import ATTACK_SPECS, DATA_ATTACKS, UPDATE_ATTACKS
from backend.lab.robustness.robustness_task import RobustnessTask

NO_ATTACK = "none"
ATTACKS = (NO_ATTACK, *UPDATE_ATTACKS, *DATA_ATTACKS)


@dataclass(frozen=True)
class AttackPlan:
    """What attackers do; without attacks they are honest. `rare` [n] are training examples only they have."""

    name: str
    data: DataAttack | None = None
    update: UpdateAttack | None = None
    rare: NDArray[np.bool_] | None = None


def plan_attack(name: str, task: RobustnessTask, seed: int) -> AttackPlan:
    """Returns the attack of this name on a task; `seed` draws its classes, places and noise.

    Raises SettingsError if there is no such attack, or it does not fit the task's examples.
    """
    if name == NO_ATTACK:
        return AttackPlan(name)
    if name not in ATTACK_SPECS:
        raise SettingsError(f"There is no attack {name}. Take some of {', '.join(ATTACKS)}.")
    poisons = name if name in DATA_ATTACKS else ATTACK_SPECS[name].trains_on
    try:
        data, rare = _data_attack(poisons, task, seed)
        if data is not None:
            data.poison(task.train.picked(slice(1)), seed)
    except ValueError as error:
        raise SettingsError(f"The attack {name} does not fit this task. {error}") from error
    return AttackPlan(name, data, _update_attack(name, task, seed), rare)


def _update_attack(name: str, task: RobustnessTask, seed: int) -> UpdateAttack | None:
    if name not in UPDATE_ATTACKS:
        return None
    make = UPDATE_ATTACKS[name]
    if name == "model-replacement":
        return make(task.server_learning_rate)
    return make(seed=seed) if name in ("gaussian-noise", "free-rider", "sybils") else make()


def _data_attack(
    name: str | None, task: RobustnessTask, seed: int
) -> tuple[DataAttack | None, NDArray[np.bool_] | None]:
    if name == "label-flip":
        return label_flip(task.classes), None
    if name == "trigger-backdoor":
        low, high = task.pixel_range()
        return trigger_backdoor(task.classes, seed=seed, low=low, high=high), None
    if name == "edge-case-backdoor":
        source, target = np.random.default_rng(seed).choice(task.classes, 2, replace=False)
        rare, held = split_edges(task.train, task.held_out, int(source))
        picked = task.train.picked(rare), task.held_out.picked(held)
        return edge_case_backdoor(*picked, int(target)), rare
    return None, None
