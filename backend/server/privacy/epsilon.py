"""Epsilon by Google's dp-accounting, in a process: `python -m backend.server.privacy.epsilon`.

Reads one request as JSON from stdin and writes its answer to stdout. Servers import dp-accounting nowhere
else: that takes seconds, and figures with sampling take minutes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct

from backend.server.privacy.mechanism import Mechanism, WholeNumbers

# Beyond this epsilon means nothing to anybody, and below this noise nothing is left to be told apart.
MOST_EPSILON = 10_000.0
LEAST_NOISE, MOST_NOISE = 1e-3, 1e4
# Up to so many participations the curve has each; then one of twenty-five is enough of them.
EACH, GROWTH = 200, 1.04


class CurveAsked(Struct, frozen=True, tag="curve"):
    """Epsilon at `delta` by the number of rounds a client took part in, and how many `budget` allows.

    The curve reaches up to `limit` rounds, and has that number.
    """

    mechanism: Mechanism
    delta: float
    budget: float | None
    limit: int


class Curve(Struct, frozen=True):
    """Pairs of (participations, epsilon), rising; `most` is None without a budget."""

    points: list[tuple[int, float]]
    most: int | None


class SampledAsked(Struct, frozen=True, tag="sampled"):
    """Epsilon of `rounds` Gaussian mechanisms on Poisson samples of the rate `sampling`."""

    noise_multiplier: float
    rounds: int
    sampling: float
    delta: float


class NoiseAsked(Struct, frozen=True, tag="noise"):
    """The least noise multiplier that keeps a client that takes part `taken` times at or below `epsilon`.

    Of the `mechanism` all but its noise counts. `sampling` 1 is none, else it is central and without a tree.
    """

    mechanism: Mechanism
    taken: int
    sampling: float
    delta: float
    epsilon: float


class Epsilons(Struct, frozen=True):
    """By Rényi differential privacy, and by the distribution of the privacy loss, which is tighter."""

    rdp: float
    pld: float


Asked = CurveAsked | SampledAsked | NoiseAsked


def gaussian_epsilon(noise: float, delta: float) -> float:
    """Epsilon of one Gaussian mechanism, exactly (Balle and Wang 2018, theorem 8); at most MOST_EPSILON."""
    from dp_accounting.pld.privacy_loss_mechanism import GaussianPrivacyLoss

    if noise < LEAST_NOISE:
        return MOST_EPSILON
    loss = GaussianPrivacyLoss(noise)
    return _least(lambda epsilon: loss.get_delta_for_epsilon(epsilon) <= delta, 0.0, MOST_EPSILON)


def skellam_epsilon(whole: WholeNumbers, taken: int, delta: float) -> float:
    """Epsilon of `taken` masked rounds, by Rényi differential privacy; at most MOST_EPSILON."""
    from dp_accounting.rdp import rdp_privacy_accountant as rdp

    orders = rdp.DEFAULT_RDP_ORDERS
    epsilon, _ = rdp.compute_epsilon(orders, [taken * whole.divergence(order) for order in orders], delta)
    return min(float(epsilon), MOST_EPSILON)


def curve(asked: CurveAsked) -> Curve:
    """The answer to CurveAsked."""
    whole = asked.mechanism.whole

    def epsilon(taken: int) -> float:
        if whole is not None:
            return skellam_epsilon(whole, taken, asked.delta)
        return gaussian_epsilon(asked.mechanism.effective(taken), asked.delta)

    limit, budget = asked.limit, asked.budget
    most = None if budget is None else _most(lambda taken: epsilon(taken) <= budget, limit)
    places = {*range(1, min(limit, EACH) + 1), limit, *([most] if most else [])}
    place = float(EACH)
    while (place := place * GROWTH) < limit:
        places.add(int(place))
    return Curve([(taken, epsilon(taken)) for taken in sorted(places)], most)


def sampled_epsilons(asked: SampledAsked) -> Epsilons:
    """The answer to SampledAsked."""
    import dp_accounting as dp
    from dp_accounting.pld import PLDAccountant
    from dp_accounting.rdp import RdpAccountant

    event = _rounds(dp, asked.noise_multiplier, asked.rounds, asked.sampling)
    rdp, pld = RdpAccountant().compose(event), PLDAccountant().compose(event)
    return Epsilons(float(rdp.get_epsilon(asked.delta)), float(pld.get_epsilon(asked.delta)))


def noise_multiplier(asked: NoiseAsked) -> float:
    """The answer to NoiseAsked; exact without sampling, else by Rényi differential privacy."""
    if asked.sampling >= 1.0:
        needed = _least(
            lambda noise: gaussian_epsilon(noise, asked.delta) <= asked.epsilon, LEAST_NOISE, MOST_NOISE
        )
        return needed / msgspec.structs.replace(asked.mechanism, noise_multiplier=1.0).effective(asked.taken)
    import dp_accounting as dp
    from dp_accounting.rdp import RdpAccountant

    def enough(noise: float) -> bool:
        accountant = RdpAccountant().compose(_rounds(dp, noise, asked.taken, asked.sampling))
        return bool(accountant.get_epsilon(asked.delta) <= asked.epsilon)

    return _least(enough, 0.05, 100.0, 1e-5)


def answer(request: bytes) -> bytes:
    """The answer to a request, both JSON."""
    asked: Asked = msgspec.json.decode(request, type=Asked)
    found: Any
    match asked:
        case CurveAsked():
            found = curve(asked)
        case SampledAsked():
            found = sampled_epsilons(asked)
        case NoiseAsked():
            found = noise_multiplier(asked)
    return msgspec.json.encode(found)


def _rounds(dp: Any, noise: float, rounds: int, sampling: float) -> Any:
    event = dp.GaussianDpEvent(noise)
    if sampling < 1.0:
        event = dp.PoissonSampledDpEvent(sampling, event)
    return dp.SelfComposedDpEvent(event, rounds)


def _least(enough: Callable[[float], bool], low: float, high: float, exactness: float = 1e-12) -> float:
    """The least number between `low` and `high` that is `enough`, from above; `high` where none is."""
    while high - low > exactness * max(1.0, high):
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _most(allowed: Callable[[int], bool], limit: int) -> int:
    """The largest number up to `limit` that is `allowed`; 0 where 1 is not."""
    low, high = 0, limit + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if allowed(middle) else (low, middle)
    return low


if __name__ == "__main__":
    sys.stdout.buffer.write(answer(sys.stdin.buffer.read()))
