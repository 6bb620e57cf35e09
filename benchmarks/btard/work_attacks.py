"""What liars send in place of their work: the seven attacks of Gorbunov et al. 2022."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from backend.lab.attacks.attack import AttackedRound, UpdateAttack, UpdateRows
from backend.lab.attacks.blind_attacks import sign_flip, stale_replay
from backend.lab.attacks.informed_attacks import a_little_is_enough, inner_product
from backend.numerics.vectors import Vector

LABEL = "label"
ATTACKS = ("sign", "random", LABEL, "delayed", "ipm-0.1", "ipm-0.6", "alie")
# For these the liars must know what the honest members send.
INFORMED = ("ipm-0.1", "ipm-0.6", "alie")
_SCALE = 1000.0
# Rounds; the paper's attackers send gradients that are 1,000 steps old, in trainings twelve times as long.
DELAY = 100


@dataclass(frozen=True)
class AttackPlan:
    """Liars attack by `name` in round `start`, and in every `every`-th round from then on."""

    name: str
    start: int
    every: int = 1

    def is_due(self, number: int) -> bool:
        """Whether liars attack in round `number`."""
        return number >= self.start and (number - self.start) % self.every == 0


class WorkForger(Protocol):
    """Changes what clients commit to in place of the work that they did."""

    def sent(
        self, number: int, trained: Mapping[str, Vector], mislabelled: Mapping[str, Vector]
    ) -> dict[str, Vector]:
        """Returns what each client sends in round `number`."""


class WorkAttack:
    """Forges the updates of a training's liars, which know everything. Owned by one training."""

    def __init__(self, plan: AttackPlan, liars: Collection[str], seed: int) -> None:
        """Raises KeyError for a name that is none of ATTACKS."""
        self._plan, self._liars = plan, frozenset(liars)
        self._attack = None if plan.name == LABEL else update_attack(plan.name, seed)
        self._earlier: deque[dict[str, Vector]] = deque(maxlen=DELAY if plan.name == "delayed" else 1)

    def sent(
        self, number: int, trained: Mapping[str, Vector], mislabelled: Mapping[str, Vector]
    ) -> dict[str, Vector]:
        """Returns what each client sends in round `number`, of what it `trained`.

        `mislabelled` are the updates of liars that trained on labels 9 - y.
        """
        liars = [client for client in trained if client in self._liars]
        honest = [update for client, update in trained.items() if client not in self._liars]
        oldest = self._earlier[0] if self._earlier else {}
        self._earlier.append({client: trained[client] for client in liars})
        if not liars or not honest or not self._plan.is_due(number):
            return dict(trained)
        if self._attack is None:
            return {**trained, **{client: mislabelled[client] for client in liars}}
        own = np.stack([trained[client] for client in liars])
        earlier = np.stack([oldest.get(client, trained[client]) for client in liars])
        with np.errstate(all="ignore"):
            forged = self._attack(AttackedRound(number, own, np.stack(honest), (earlier,)))
        return {**trained, **dict(zip(liars, forged, strict=True))}


def update_attack(name: str, seed: int) -> UpdateAttack:
    """Returns the attack `name`, which is one of ATTACKS but LABEL. Raises KeyError for another one."""
    return {
        "sign": sign_flip(_SCALE),
        "random": random_direction(_SCALE, seed),
        "delayed": stale_replay(1),
        "ipm-0.1": inner_product(0.1),
        "ipm-0.6": inner_product(0.6),
        "alie": a_little_is_enough(),
    }[name]


def random_direction(scale: float, seed: int) -> UpdateAttack:
    """Sends `scale` times the own update's length in one direction that all attackers share.

    Gorbunov et al. 2022, section 4.1. Knows the own update.
    """

    def forge(known: AttackedRound) -> UpdateRows:
        direction = np.random.default_rng([seed, 2]).standard_normal(known.own.shape[1])
        direction /= np.linalg.norm(direction)
        lengths = np.linalg.norm(known.own.astype(np.float64), axis=1, keepdims=True)
        forged: UpdateRows = (scale * lengths * direction).astype(np.float32)
        return forged

    return UpdateAttack("random-direction", forge)
