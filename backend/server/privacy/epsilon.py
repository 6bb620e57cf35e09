"""Computes epsilon by Google's dp-accounting; a process: `python -m backend.server.privacy.epsilon`.

Reads one query as JSON from stdin and writes its answer to stdout. No other module of the server imports
dp-accounting: the import takes seconds, and figures with sampling take minutes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct

from backend.server.privacy.mechanism import Mechanism, WholeNumbers

# A larger epsilon is meaningless; a smaller noise multiplier gives such an epsilon.
MAX_EPSILON = 10_000.0
MIN_NOISE, MAX_NOISE = 1e-3, 1e4
# The curve has a point for each of the first DENSE_POINTS participations, then points 4 % apart.
DENSE_POINTS, GROWTH = 200, 1.04


class CurveQuery(Struct, frozen=True, tag="curve"):
    """Asks for epsilon at `delta` by a client's number of rounds, and how many rounds `budget` allows.

    The curve's last point is `limit` rounds.
    """

    mechanism: Mechanism
    delta: float
    budget: float | None
    limit: int


class Curve(Struct, frozen=True):
    """Increasing pairs of (participations, epsilon); `most`, the budget's maximum, is None without one."""

    points: list[tuple[int, float]]
    most: int | None


class SampledQuery(Struct, frozen=True, tag="sampled"):
    """Asks for epsilon of `rounds` Gaussian mechanisms on Poisson samples of the rate `sampling`."""

    noise_multiplier: float
    rounds: int
    sampling: float
    delta: float


class NoiseQuery(Struct, frozen=True, tag="noise"):
    """Asks for the smallest noise multiplier that keeps a client of `taken` rounds within `epsilon`.

    The noise of `mechanism` is ignored. `sampling` 1 means no sampling; below 1 the mechanism is central and
    without a tree.
    """

    mechanism: Mechanism
    taken: int
    sampling: float
    delta: float
    epsilon: float


class Epsilons(Struct, frozen=True):
    """Epsilon by Rényi differential privacy, and by the privacy loss distribution, which is tighter."""

    rdp: float
    pld: float


Query = CurveQuery | SampledQuery | NoiseQuery


def gaussian_epsilon(noise: float, delta: float) -> float:
    """Returns the exact epsilon of a Gaussian mechanism (Balle and Wang 2018, thm 8); max. MAX_EPSILON."""
    from dp_accounting.pld.privacy_loss_mechanism import GaussianPrivacyLoss

    if noise < MIN_NOISE:
        return MAX_EPSILON
    loss = GaussianPrivacyLoss(noise)
    return _smallest(lambda epsilon: loss.get_delta_for_epsilon(epsilon) <= delta, 0.0, MAX_EPSILON)


def skellam_epsilon(whole: WholeNumbers, taken: int, delta: float) -> float:
    """Returns epsilon of `taken` masked rounds by Rényi differential privacy; at most MAX_EPSILON."""
    from dp_accounting.rdp import rdp_privacy_accountant as rdp

    orders = rdp.DEFAULT_RDP_ORDERS
    epsilon, _ = rdp.compute_epsilon(orders, [taken * whole.divergence(order) for order in orders], delta)
    return min(float(epsilon), MAX_EPSILON)


def curve(query: CurveQuery) -> Curve:
    """Answers a CurveQuery."""
    whole = query.mechanism.whole

    def epsilon(taken: int) -> float:
        if whole is not None:
            return skellam_epsilon(whole, taken, query.delta)
        return gaussian_epsilon(query.mechanism.effective(taken), query.delta)

    limit, budget = query.limit, query.budget
    maximum = None if budget is None else _largest(lambda taken: epsilon(taken) <= budget, limit)
    counts = {*range(1, min(limit, DENSE_POINTS) + 1), limit, *([maximum] if maximum else [])}
    count = float(DENSE_POINTS)
    while (count := count * GROWTH) < limit:
        counts.add(int(count))
    return Curve([(taken, epsilon(taken)) for taken in sorted(counts)], maximum)


def sampled_epsilons(query: SampledQuery) -> Epsilons:
    """Answers a SampledQuery."""
    import dp_accounting as dp
    from dp_accounting.pld import PLDAccountant
    from dp_accounting.rdp import RdpAccountant

    event = _rounds(dp, query.noise_multiplier, query.rounds, query.sampling)
    rdp, pld = RdpAccountant().compose(event), PLDAccountant().compose(event)
    return Epsilons(float(rdp.get_epsilon(query.delta)), float(pld.get_epsilon(query.delta)))


def noise_multiplier(query: NoiseQuery) -> float:
    """Answers a NoiseQuery: exactly without sampling, else by Rényi differential privacy."""
    if query.sampling >= 1.0:
        needed = _smallest(
            lambda noise: gaussian_epsilon(noise, query.delta) <= query.epsilon, MIN_NOISE, MAX_NOISE
        )
        return needed / msgspec.structs.replace(query.mechanism, noise_multiplier=1.0).effective(query.taken)
    import dp_accounting as dp
    from dp_accounting.rdp import RdpAccountant

    def enough(noise: float) -> bool:
        accountant = RdpAccountant().compose(_rounds(dp, noise, query.taken, query.sampling))
        return bool(accountant.get_epsilon(query.delta) <= query.epsilon)

    return _smallest(enough, 0.05, 100.0, 1e-5)


def answer(request: bytes) -> bytes:
    """Answers a query; both are JSON."""
    query: Query = msgspec.json.decode(request, type=Query)
    result: Any
    match query:
        case CurveQuery():
            result = curve(query)
        case SampledQuery():
            result = sampled_epsilons(query)
        case NoiseQuery():
            result = noise_multiplier(query)
    return msgspec.json.encode(result)


def _rounds(dp: Any, noise: float, rounds: int, sampling: float) -> Any:
    event = dp.GaussianDpEvent(noise)
    if sampling < 1.0:
        event = dp.PoissonSampledDpEvent(sampling, event)
    return dp.SelfComposedDpEvent(event, rounds)


def _smallest(enough: Callable[[float], bool], low: float, high: float, exactness: float = 1e-12) -> float:
    """Returns the smallest number in [low, high] that is `enough`, rounded up; `high` if none is."""
    while high - low > exactness * max(1.0, high):
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _largest(allowed: Callable[[int], bool], limit: int) -> int:
    """Returns the largest number up to `limit` that is `allowed`; 0 if 1 is not."""
    low, high = 0, limit + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if allowed(middle) else (low, middle)
    return low


if __name__ == "__main__":
    sys.stdout.buffer.write(answer(sys.stdin.buffer.read()))
