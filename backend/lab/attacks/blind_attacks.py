"""Attacks on updates for which attackers need their own updates only."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from backend.lab.attacks.attack import AttackedRound, UpdateAttack, UpdateRows, not_negative, positive
from backend.numerics.aggregators.distances import Matrix


def sign_flip(scale: float = 1.0) -> UpdateAttack:
    """Sends -`scale` times the own update (Li et al. 2019, RSA). Knows the own update."""
    factor = np.float32(positive("scale", scale))
    return UpdateAttack("sign-flip", lambda known: -factor * known.own)


def scaled(factor: float = 10.0) -> UpdateAttack:
    """Sends `factor` times the own update, explicit boosting (Bhagoji et al. 2019). Knows the own update."""
    boost = np.float32(positive("factor", factor))
    return UpdateAttack("scaled", lambda known: boost * known.own)


def gaussian_noise(deviation: float = 10.0, seed: int = 0) -> UpdateAttack:
    """Sends values from a normal distribution around 0 (Blanchard et al. 2017). Knows the size alone.

    `deviation` is the standard deviation of each value; attackers and rounds draw different values.
    """
    spread = positive("deviation", deviation)
    return _untrained("gaussian-noise", lambda known: _noise(known, spread, seed).astype(np.float32))


def not_finite(value: float = float("nan")) -> UpdateAttack:
    """Sends NaN, as broken devices do, or infinity (ByzFL's `Inf`) in place of every value. Knows the size.

    Raises ValueError for a finite value.
    """
    if np.isfinite(value):
        raise ValueError(f"This attack sends NaN or infinity, not {value!r}.")
    name = "nan" if np.isnan(value) else "infinity"
    return _untrained(name, lambda known: np.full_like(known.own, value))


def free_rider(deviation: float = 1e-3, seed: int = 0) -> UpdateAttack:
    """Sends noise around 0 without training, a disguised free rider (Fraboni et al. 2021). Knows the size.

    `deviation` is the standard deviation of each value; 0 is the plain free rider, who returns the version.
    """
    spread = not_negative("deviation", deviation)
    return _untrained("free-rider", lambda known: _noise(known, spread, seed).astype(np.float32))


def stale_replay(delay: int = 5) -> UpdateAttack:
    """Sends the own update of `delay` rounds before again (staleness of Xie et al. 2019).

    In the first rounds it sends the oldest own update that there is. Knows the own updates.
    """
    if not isinstance(delay, int) or delay < 1:
        raise ValueError(f"delay is a number of rounds from 1 up, not {delay!r}.")

    def forge(known: AttackedRound) -> UpdateRows:
        if not known.earlier:
            return known.own.copy()
        return known.earlier[-min(delay, len(known.earlier))].copy()

    return UpdateAttack("stale-replay", forge, remembers=delay)


def model_replacement(server_learning_rate: float = 1.0) -> UpdateAttack:
    """Scales the own update so that the mean becomes it (Bagdasaryan et al. 2020, equation 3).

    k attackers of n send n / (k `server_learning_rate`) times their updates, as honest ones cancel out. Knows
    the own update, n, k and the server's learning rate; takes equal weights of all.
    """
    rate = positive("server_learning_rate", server_learning_rate)

    def forge(known: AttackedRound) -> UpdateRows:
        boost = np.float32(known.participants / (len(known.own) * rate))
        return boost * known.own

    return UpdateAttack("model-replacement", forge)


def sybils(noise: float = 0.01, seed: int = 0) -> UpdateAttack:
    """All attackers send the first one's update, with noise of `noise` times its norm (Fung et al. 2020).

    They are one attacker under several names, who trains once. Knows the own update.
    """
    share = not_negative("noise", noise)

    def forge(known: AttackedRound) -> UpdateRows:
        first, drawn = known.own[0].astype(np.float64), _noise(known, 1.0, seed)
        drawn *= share * np.linalg.norm(first) / np.linalg.norm(drawn, axis=1, keepdims=True)
        drawn += first
        return drawn.astype(np.float32)

    return UpdateAttack("sybils", forge)


def _untrained(name: str, forge: Callable[[AttackedRound], UpdateRows]) -> UpdateAttack:
    return UpdateAttack(name, forge, trains=False)


def _noise(known: AttackedRound, deviation: float, seed: int) -> Matrix:
    """Returns normal values [k, size] of this round."""
    random = np.random.default_rng([seed, known.number])
    drawn: Matrix = np.multiply(deviation, random.standard_normal(known.own.shape))
    return drawn
