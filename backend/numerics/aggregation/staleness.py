"""Staleness: how FedBuff counts it, and the factors by which FedAsync lowers the weight of a stale result."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

# Staleness -> a factor from 0 to 1.
Discount: TypeAlias = Callable[[int], float]


def constant() -> Discount:
    """1 for any staleness (Xie, Koyejo, Gupta 2019)."""
    return lambda _staleness: 1.0


def polynomial(a: float = 0.5) -> Discount:
    """(staleness + 1)^-a (Xie et al. 2019)."""
    return lambda staleness: (staleness + 1.0) ** -a


def hinge(a: float = 10.0, b: float = 4.0) -> Discount:
    """1 up to a staleness of `b`, then 1 / (a (staleness - b) + 1) (Xie et al. 2019)."""
    return lambda staleness: 1.0 if staleness <= b else 1.0 / (a * (staleness - b) + 1.0)


DISCOUNTS: dict[str, Callable[..., Discount]] = {
    "constant": constant,
    "polynomial": polynomial,
    "hinge": hinge,
}


def versions_since(count: int, staleness: int, buffer: int) -> int:
    """Returns FedBuff's tau: the versions that it made while the last `staleness` of `count` results came.

    It makes one every `buffer` results (Nguyen et al. 2022, algorithm 1, where t rises when the buffer is
    full). Results of `staleness` that `count` lacks, because a store lost them or a warm start adopted them,
    filled no buffer.
    """
    return count // buffer - max(0, count - staleness) // buffer
