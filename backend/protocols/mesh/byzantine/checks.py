"""What everybody checks of the means of a turn (Gorbunov et al. 2022, verifications 1 to 3)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import median

from backend.wire.byzantine_bodies import CheckBody

# The products of a part add up to zero, but for rounding; measured 5e-7 radii for honest owners.
_SUM = 1e-5


def part_radius(radius: float, size: int) -> float:
    """Returns the radius of a part of `size` values; `radius` is per root of its size."""
    return radius * math.sqrt(max(1, size))


def doubted_parts(checks: Sequence[CheckBody], radii: Sequence[float], far: float) -> list[int]:
    """Returns the parts whose mean is to be made again by all.

    `checks` are those of all workers, `radii` of all parts. The products of a part do not cancel, or more
    than half of the pieces are farther than `far` radii from its mean.
    """
    found = []
    for part, radius in enumerate(radii):
        total = 0.0
        # One after the other, as in the other language.
        for check in checks:
            total += check.products[part]
        distant = sum(check.lengths[part] > far * radius for check in checks)
        if not abs(total) <= _SUM * radius or 2 * distant > len(checks):
            found.append(part)
    return found


def is_complete(check: CheckBody, parts: int) -> bool:
    """Whether a worker's numbers are finite, and one of each kind for each part."""
    numbers = (*check.products, *check.lengths)
    return len(check.products) == len(check.lengths) == parts and all(map(math.isfinite, numbers))


def measured_radius(checks: Sequence[CheckBody], sizes: Sequence[int]) -> float:
    """Returns the median of all lengths, each per root of its part's size."""
    return median(
        length / math.sqrt(max(1, size))
        for check in checks
        for length, size in zip(check.lengths, sizes, strict=True)
    )


def wrong_checks(
    said: Mapping[str, CheckBody], part: int, products: Mapping[str, float], lengths: Mapping[str, float]
) -> list[str]:
    """Returns who said another product or length of `part` than its piece has, whose bits all know."""
    return [
        client
        for client, check in said.items()
        if (check.products[part], check.lengths[part]) != (products[client], lengths[client])
    ]
