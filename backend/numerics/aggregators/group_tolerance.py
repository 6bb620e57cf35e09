"""What a robust rule over the means of random groups bears, and what groups cost.

Clients are split at random into groups, each group is summed, and a rule that bears t false rows of k runs
over the group means. A false update spoils its group: f attackers spoil f groups at most, so f <= t is borne
in every case. More attackers are borne while enough of them meet in the same groups.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from backend.numerics.vectors import Vector64


@dataclass(frozen=True)
class GroupTradeOff:
    """What `groups` groups of `clients` clients give and cost.

    An update is hidden among at least `smallest` clients, its own included. Any `borne` attackers are borne
    at most; of random splits with twice as many, the fraction `chance_of_twice` spoils more groups than the
    rule bears. `noise` is the standard deviation of the noise in the mean of all groups, where each sum has
    noise of its own, divided by that of one sum of all clients.
    """

    clients: int
    groups: int
    smallest: int
    borne: int
    chance_of_twice: float
    noise: float


def trade_off(clients: int, groups: int, tolerance: Callable[[int], int]) -> GroupTradeOff:
    """Returns what `groups` groups give under a rule that bears tolerance(n) of n rows.

    Raises ValueError for more groups than clients.
    """
    smallest = group_sizes(clients, groups)[-1]
    borne = max(0, min(tolerance(groups), clients))
    twice = chance_of_more(clients, groups, min(2 * borne, clients), borne)
    return GroupTradeOff(clients, groups, smallest, borne, twice, math.sqrt(groups))


def group_sizes(clients: int, groups: int) -> list[int]:
    """Returns the sizes of balanced groups, the largest first. Raises ValueError for an empty group."""
    if not 1 <= groups <= clients:
        raise ValueError(f"{clients} clients cannot be split into {groups} groups.")
    size, larger = divmod(clients, groups)
    return [size + 1] * larger + [size] * (groups - larger)


def chance_of_more(clients: int, groups: int, attackers: int, borne: int) -> float:
    """Returns the probability that `attackers` random clients are in more than `borne` groups."""
    return float(min(1.0, spoiled_groups(clients, groups, attackers)[borne + 1 :].sum()))


def spoiled_groups(clients: int, groups: int, attackers: int) -> Vector64:
    """Returns the probability that `attackers` random clients are in j groups, for j from 0 to `groups`.

    The numbers of attackers in the groups have the multivariate hypergeometric distribution: independent
    binomial numbers of any rate, given their sum. With the rate attackers / clients no term is too small for
    a float64. Takes O(groups² attackers²) steps. Raises ValueError for more attackers than clients.
    """
    if not 0 <= attackers <= clients:
        raise ValueError(f"{attackers} of {clients} clients cannot be attackers.")
    sizes = group_sizes(clients, groups)
    rate = attackers / clients
    # joint[j, m]: so many groups are spoiled, by m attackers together.
    joint = np.zeros((groups + 1, attackers + 1))
    joint[0, 0] = 1.0
    for number, size in enumerate(sizes):
        inside = _binomial(size, attackers, rate)
        clean, spoiled = inside[0], np.append(0.0, inside[1:])
        after = clean * joint
        for count in range(number + 1):
            after[count + 1] += np.convolve(joint[count], spoiled)[: attackers + 1]
        joint = after
    chances: Vector64 = joint[:, attackers] / joint[:, attackers].sum()
    return chances


def _binomial(size: int, most: int, rate: float) -> Vector64:
    """Returns the probabilities of 0 to `most` successes in `size` trials."""
    chances = np.zeros(most + 1)
    if rate in (0.0, 1.0):
        chances[round(size * rate)] = 1.0
        return chances
    for count in range(min(size, most) + 1):
        logarithm = math.lgamma(size + 1) - math.lgamma(count + 1) - math.lgamma(size - count + 1)
        logarithm += count * math.log(rate) + (size - count) * math.log1p(-rate)
        chances[count] = math.exp(logarithm)
    return chances
