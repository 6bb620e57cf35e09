"""Compares the loss and the metric sums that results of the same work unit report beside their updates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from backend.numerics.aggregation.result_agreement import Agreement, Tolerance

# Rounding may turn the answers to so many examples, which changes counts by as much.
TURNED = 2.0
# Losses below this are alike: rounding is most of them.
LEAST_LOSS = 1e-3

_ORDER = (Agreement.SAME, Agreement.DOUBTFUL, Agreement.OTHER)


@dataclass(frozen=True)
class Figures:
    """A reported mean loss, and the pairs of numerator and denominator that metrics are computed from."""

    loss: float = 0.0
    sums: tuple[tuple[float, float], ...] = ()


def worst(agreements: Sequence[Agreement]) -> Agreement:
    """Returns the least agreement of several comparisons."""
    return max(agreements, key=_ORDER.index)


def figure_agreement(first: Figures, second: Figures, tolerance: Tolerance) -> Agreement:
    """Returns whether two reports agree: each loss, and each sum by itself, within `tolerance`."""
    if len(first.sums) != len(second.sums):
        return Agreement.OTHER
    distance = max(_distances(first, second))
    if distance <= tolerance.distance:
        return Agreement.SAME
    return Agreement.DOUBTFUL if distance <= tolerance.blame else Agreement.OTHER


def is_unusual(loss: float, others: Sequence[float], factor: float) -> bool:
    """Whether a loss is more than `factor` times above, or below, all `others`."""
    low, high = min(others), max(others)
    floor = low / factor if low > LEAST_LOSS else min(factor * low, 0.0)
    return not floor <= loss <= factor * max(high, LEAST_LOSS)


def _distances(first: Figures, second: Figures) -> Iterator[float]:
    """Yields the relative difference of the losses and of each sum."""
    scale = max(abs(first.loss), abs(second.loss), LEAST_LOSS)
    yield abs(first.loss - second.loss) / scale
    for one, other in zip(first.sums, second.sums, strict=True):
        # A numerator is compared beside its denominator: one right answer of a hundred may be none elsewhere.
        scale = max(map(abs, chain(one, other)))
        for a, b in zip(one, other, strict=True):
            apart = abs(a - b)
            counts = a == round(a) and b == round(b)
            yield 0.0 if not apart or (counts and apart <= TURNED) else apart / scale
