"""What everybody checks of the means of a turn (Gorbunov et al. 2022, verifications 1 to 3)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import median

from backend.wire.byzantine_bodies import CheckBody
from backend.wire.byzantine_messages import ByzantineTerms

# The products of a part add up to zero, but for rounding; measured 5e-7 radii for honest owners.
_SUM = 1e-5
# A measured radius changes by this factor at most from one round to the next.
RADIUS_CHANGE = 1.02


def part_radius(radius: float, size: int) -> float:
    """Returns the radius of a part of `size` values; `radius` is per root of its size."""
    return radius * math.sqrt(max(1, size))


def far_lengths(
    checks: Sequence[CheckBody], sizes: Sequence[int], terms: ByzantineTerms, radius: float
) -> list[float]:
    """Returns how far the pieces of each part may be from its mean: `far` radii.

    A `radius` that was measured is that of the round before. Where all lengths grew since then, those of this
    round count, else honest members would doubt each other.
    """
    widest = radius if terms.radius is not None else max(radius, measured_radius(checks, sizes))
    return [terms.far * part_radius(widest, size) for size in sizes]


def doubted_parts(
    checks: Sequence[CheckBody], radii: Sequence[float], farthest: Sequence[float]
) -> list[int]:
    """Returns the parts whose mean is to be made again by all.

    `checks` are those of all workers, `radii` of all parts. The products of a part do not cancel, or more
    than half of the pieces are `farthest` from its mean, and more.
    """
    found = []
    for part, (radius, most) in enumerate(zip(radii, farthest, strict=True)):
        total = 0.0
        # One after the other, as in the other language.
        for check in checks:
            total += check.products[part]
        distant = sum(check.lengths[part] > most for check in checks)
        if not abs(total) <= _SUM * radius or 2 * distant > len(checks):
            found.append(part)
    return found


def is_complete(check: CheckBody, parts: int) -> bool:
    """Whether a worker's numbers are finite, and one of each kind for each part."""
    numbers = (*check.products, *check.lengths)
    return len(check.products) == len(check.lengths) == parts and all(map(math.isfinite, numbers))


def measured_radius(checks: Sequence[CheckBody], sizes: Sequence[int]) -> float:
    """Returns the median of the parts' median lengths, each per root of its part's size.

    Lying owners make all lengths of their parts long, and those that hide it make them short: a median of all
    together would follow them, since both are more than half of all lengths.
    """
    return median(
        median(check.lengths[part] for check in checks) / math.sqrt(max(1, size))
        for part, size in enumerate(sizes)
    )


def next_radius(radius: float, measured: float) -> float:
    """Returns the radius after a round that had `radius` and in which `measured` was found, 0 for none.

    It follows slowly: what liars do to a model makes honest lengths grow within a few rounds, and what they
    may do grows with the radius.
    """
    if not radius or not measured:
        return measured or radius
    return min(max(measured, radius / RADIUS_CHANGE), radius * RADIUS_CHANGE)


def wrong_checks(
    said: Mapping[str, CheckBody], part: int, products: Mapping[str, float], lengths: Mapping[str, float]
) -> list[str]:
    """Returns who said another product or length of `part` than its piece has, whose bits all know."""
    return [
        client
        for client, check in said.items()
        if (check.products[part], check.lengths[part]) != (products[client], lengths[client])
    ]
