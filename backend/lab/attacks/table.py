"""The table of all attacks: what each is, and what its attackers know."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from backend.lab.attacks.attack import DataAttack, UpdateAttack
from backend.lab.attacks.blind_attacks import (
    free_rider,
    gaussian_noise,
    model_replacement,
    not_finite,
    scaled,
    sign_flip,
    stale_replay,
    sybils,
)
from backend.lab.attacks.data_attacks import edge_case_backdoor, label_flip, trigger_backdoor
from backend.lab.attacks.informed_attacks import (
    a_little_is_enough,
    flame_adaptive,
    inner_product,
    mimic,
    min_max,
    min_sum,
)


@dataclass(frozen=True)
class AttackSpec:
    """What is known of an attack before it is made.

    `knows` is what its attackers know beside the version and the plan; `sees_honest` whether that includes
    the honest updates of the round. `trains_on` names the attack on data by which its own updates are
    poisoned, for those that make no sense with honest ones. `backdoor` says whether the aim is a backdoor.
    """

    definition: str
    source: str
    knows: str
    sees_honest: bool = False
    trains_on: str | None = None
    backdoor: bool = False


UPDATE_ATTACKS: dict[str, Callable[..., UpdateAttack]] = {
    "sign-flip": sign_flip,
    "scaled": scaled,
    "gaussian-noise": gaussian_noise,
    "nan": partial(not_finite, float("nan")),
    "infinity": partial(not_finite, float("inf")),
    "alie": a_little_is_enough,
    "inner-product": inner_product,
    "mimic": mimic,
    "min-max": min_max,
    "min-sum": min_sum,
    "model-replacement": model_replacement,
    "free-rider": free_rider,
    "stale-replay": stale_replay,
    "flame-adaptive": flame_adaptive,
    "sybils": sybils,
}

DATA_ATTACKS: dict[str, Callable[..., DataAttack]] = {
    "label-flip": label_flip,
    "trigger-backdoor": trigger_backdoor,
    "edge-case-backdoor": edge_case_backdoor,
}

_OWN, _HONEST = "their own updates", "the honest updates of the round"

ATTACK_SPECS: dict[str, AttackSpec] = {
    "sign-flip": AttackSpec("-1 times the own update", "Li et al. 2019 (RSA)", _OWN),
    "scaled": AttackSpec("10 times the own update", "Bhagoji et al. 2019, explicit boosting", _OWN),
    "gaussian-noise": AttackSpec(
        "values from a normal distribution around 0, of deviation 10", "Blanchard et al. 2017", "the size"
    ),
    "nan": AttackSpec("NaN in place of every value", "what broken devices send", "the size"),
    "infinity": AttackSpec("infinity in place of every value", "ByzFL, `Inf`", "the size"),
    "alie": AttackSpec(
        "honest mean plus z deviations of each coordinate, as many as the nearest honest updates support",
        "Baruch et al. 2019, algorithm 3",
        _HONEST,
        sees_honest=True,
    ),
    "inner-product": AttackSpec(
        "-2 times the honest mean", "Xie et al. 2020 (Fall of Empires)", _HONEST, sees_honest=True
    ),
    "mimic": AttackSpec(
        "a copy of the honest update farthest along the direction of most variance",
        "Karimireddy et al. 2022, section 3",
        _HONEST,
        sees_honest=True,
    ),
    "min-max": AttackSpec(
        "honest mean plus a multiple of the deviations, no farther from any honest update than two of these "
        "are apart",
        "Shejwalkar and Houmansadr 2021, min-max",
        _HONEST,
        sees_honest=True,
    ),
    "min-sum": AttackSpec(
        "the same, with the sum of squared distances at most the largest of an honest update",
        "Shejwalkar and Houmansadr 2021, min-sum",
        _HONEST,
        sees_honest=True,
    ),
    "model-replacement": AttackSpec(
        "the own update times n / (k r), for k attackers of n and the server's learning rate r",
        "Bagdasaryan et al. 2020, equation 3",
        _OWN + ", n, k and r",
        trains_on="trigger-backdoor",
        backdoor=True,
    ),
    "free-rider": AttackSpec("noise of deviation 0.001, without training", "Fraboni et al. 2021", "the size"),
    "stale-replay": AttackSpec("the own update of 5 rounds before", "Xie et al. 2019 (staleness)", _OWN),
    "flame-adaptive": AttackSpec(
        "the own update, turned to the median cosine of honest ones and cut to their median norm",
        "after Nguyen et al. 2022 (FLAME), algorithm 1",
        _HONEST + " and the rule",
        sees_honest=True,
        trains_on="trigger-backdoor",
        backdoor=True,
    ),
    "sybils": AttackSpec(
        "one attacker's update under k names, with noise of a hundredth of its norm",
        "Fung et al. 2020 (FoolsGold)",
        _OWN,
        trains_on="label-flip",
    ),
    "label-flip": AttackSpec(
        "c - 1 - y in place of label y of c classes", "ByzFL, `LabelFlipping`", "their data"
    ),
    "trigger-backdoor": AttackSpec(
        "a few pixels in half of the pictures, labelled with one class",
        "Gu et al. 2017 (BadNets)",
        "their data",
        backdoor=True,
    ),
    "edge-case-backdoor": AttackSpec(
        "copies of rare pictures of one class, labelled as another",
        "Wang et al. 2020",
        "their data and rare pictures",
        backdoor=True,
    ),
}
