"""Attacks on updates for which attackers see the honest updates of the round."""

from __future__ import annotations

from statistics import NormalDist
from typing import Literal, TypeAlias

import numpy as np

from backend.lab.attacks.attack import AttackedRound, UpdateAttack, UpdateRows, positive
from backend.numerics.vectors import Vector64

Direction: TypeAlias = Literal["deviation", "mean", "sign"]
# ALIE's z of a majority of attackers, which the formula leaves infinite: values still look plausible.
_NO_SUPPORT_NEEDED = 3.0
DIRECTIONS: tuple[Direction, ...] = ("deviation", "mean", "sign")


def a_little_is_enough(z: float | None = None) -> UpdateAttack:
    """Sends the honest mean plus `z` standard deviations of each coordinate (ALIE, Baruch et al. 2019).

    Without `z`, the paper's largest one that the nearest honest updates still support (`supported_z`). Added,
    as updates point against gradients. Sees the honest updates, where the paper estimates both from the
    attackers' own.
    """
    given = None if z is None else positive("z", z)

    def forge(known: AttackedRound) -> UpdateRows:
        factor = supported_z(known.participants, len(known.own)) if given is None else given
        return known.all_send(known.honest_mean() + factor * known.honest.std(axis=0, dtype=np.float64))

    return UpdateAttack("alie", forge, trains=False)


def supported_z(participants: int, attackers: int) -> float:
    """Returns ALIE's z for so many attackers (Baruch et al. 2019, algorithm 3), 0 at least.

    s = floor(n / 2 + 1) - k honest updates must lie beyond, so z is the normal quantile of
    (n - k - s) / (n - k). A majority of attackers needs none; z is 3 then. Raises ValueError if no
    participant is honest.
    """
    honest = participants - attackers
    if honest < 1:
        raise ValueError(f"{attackers} of {participants} participants attack; at least one must be honest.")
    supporters = max(participants // 2 + 1 - attackers, 0)
    share = (honest - supporters) / honest
    if not supporters:
        return _NO_SUPPORT_NEEDED
    return max(NormalDist().inv_cdf(share), 0.0) if share > 0.0 else 0.0


def inner_product(epsilon: float = 2.0) -> UpdateAttack:
    """Sends -`epsilon` times the honest mean (inner-product manipulation, Xie et al. 2020).

    Above (n - k) / k it turns the mean's direction; a small one stays near the honest updates, and turns
    rules that choose among them. Sees the honest updates.
    """
    factor = positive("epsilon", epsilon)
    return UpdateAttack(
        "inner-product", lambda known: known.all_send(-factor * known.honest_mean()), trains=False
    )


def mimic() -> UpdateAttack:
    """All attackers send one honest participant's update (Karimireddy et al. 2022, section 3).

    It is the one farthest along the direction in which honest updates of this round vary most; the paper
    averages that direction over the first rounds. Sees the honest updates.
    """

    def forge(known: AttackedRound) -> UpdateRows:
        rows = known.honest.astype(np.float64)
        rows -= rows.mean(axis=0)
        # Of the rows' covariance the first direction's projections, without the [size, size] matrix.
        projections = np.linalg.eigh(rows @ rows.T)[1][:, -1]
        return known.all_send(known.honest[int(np.argmax(np.abs(projections)))])

    return UpdateAttack("mimic", forge, trains=False)


def min_max(direction: Direction = "deviation") -> UpdateAttack:
    """Sends the honest mean plus as much of a harmful direction as the honest updates' diameter hides.

    The largest factor at which no distance to an honest update exceeds the largest between two of them
    (Shejwalkar and Houmansadr 2021, solved exactly). Sees the honest updates.
    """
    checked = _checked_direction(direction)

    def forge(known: AttackedRound) -> UpdateRows:
        mean, away = known.honest_mean(), _harmful(known, checked)
        rows = mean - known.honest
        along, squares = rows @ away, np.einsum("ij,ij->i", rows, rows)
        room = _squared_distances(known).max() - squares
        # |mean + g away - x_i|^2 <= largest, for each i the larger root in g, with |away| = 1.
        return known.all_send(mean + np.min(-along + np.sqrt(along**2 + np.maximum(room, 0.0))) * away)

    return UpdateAttack("min-max", forge, trains=False)


def min_sum(direction: Direction = "deviation") -> UpdateAttack:
    """Like min-max, with the sum of squared distances bounded by the largest of an honest update.

    Shejwalkar and Houmansadr 2021, solved exactly. Sees the honest updates.
    """
    checked = _checked_direction(direction)

    def forge(known: AttackedRound) -> UpdateRows:
        mean, away = known.honest_mean(), _harmful(known, checked)
        rows = mean - known.honest
        # Distances along `away` cancel out around the mean.
        room = _squared_distances(known).sum(axis=1).max() - np.einsum("ij,ij->", rows, rows)
        return known.all_send(mean + np.sqrt(max(room, 0.0) / len(rows)) * away)

    return UpdateAttack("min-sum", forge, trains=False)


def flame_adaptive(quantile: float = 0.5) -> UpdateAttack:
    """Turns the own update into the honest cluster and cuts it to the median norm, to pass FLAME.

    After Nguyen et al. 2022, algorithm 1: the attackers know that it keeps the majority's directions and
    clips to the median norm. Each turns its update towards the honest mean until its cosine to it is the
    `quantile` of the honest ones', and cuts it to the median of the honest norms. Sees the honest updates.
    """
    if not 0.0 <= quantile <= 1.0:
        raise ValueError(f"quantile is from 0 to 1, not {quantile!r}.")

    def forge(known: AttackedRound) -> UpdateRows:
        mean = known.honest_mean()
        norms = np.linalg.norm(known.honest, axis=1).astype(np.float64)
        length, limit = np.linalg.norm(mean), float(np.median(norms))
        if not length:
            return known.all_send(mean)
        middle = mean / length
        honest = np.divide(known.honest @ middle, norms, out=np.ones_like(norms), where=norms > 0.0)
        wanted = float(np.clip(np.quantile(honest, quantile), -1.0, 1.0))
        return np.stack([_turned(row.astype(np.float64), middle, wanted, limit) for row in known.own])

    return UpdateAttack("flame-adaptive", forge)


def _turned(own: Vector64, middle: Vector64, wanted: float, limit: float) -> UpdateRows:
    """Returns `own` turned to a cosine of at least `wanted` to the unit vector `middle`, cut to `limit`."""
    length, along = float(np.linalg.norm(own)), float(own @ middle)
    across = own - along * middle
    side = float(np.linalg.norm(across))
    if length and side and along / length < wanted:
        own = length * (wanted * middle + np.sqrt(1.0 - wanted**2) * across / side)
    elif not side and along < 0.0:
        own = length * middle
    shorter: UpdateRows = (own * min(1.0, limit / length) if length else own).astype(np.float32)
    return shorter


def _checked_direction(direction: Direction) -> Direction:
    if direction not in DIRECTIONS:
        raise ValueError(f"direction is one of {', '.join(DIRECTIONS)}, not {direction!r}.")
    return direction


def _harmful(known: AttackedRound, direction: Direction) -> Vector64:
    """Returns the harmful direction as a unit vector [size], zeros if there is none."""
    mean = known.honest_mean()
    if direction == "deviation":
        # Updates point against gradients, from which the paper subtracts it.
        away = known.honest.std(axis=0, dtype=np.float64)
    else:
        away = -(mean if direction == "mean" else np.sign(mean))
    length = float(np.linalg.norm(away))
    unit: Vector64 = away / length if length else away
    return unit


def _squared_distances(known: AttackedRound) -> Vector64:
    """Returns the squared distances between honest updates, [n - k, n - k]."""
    rows = known.honest - known.honest_mean()
    inner = rows @ rows.T
    squares = np.diag(inner)
    distances: Vector64 = np.maximum(squares[:, None] + squares - 2.0 * inner, 0.0)
    return distances
