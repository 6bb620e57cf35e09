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
# A figure alone shows a lie only at this relative distance, of losses above LEAST_BLAMED. Smaller ones, and
# figures of unlike signs, may be the rest of terms that cancel, which rounding changes by any factor.
FAR, LEAST_BLAMED = 0.75, 0.05

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
    """Returns whether two reports agree: each loss, and each sum by itself, within `tolerance`.

    The updates may agree all the same, so only what is FAR apart is a lie; else it is in doubt.
    """
    if len(first.sums) != len(second.sums):
        return Agreement.OTHER
    if max(_distances(first, second, LEAST_LOSS)) <= tolerance.distance:
        return Agreement.SAME
    blamed = max(_distances(first, second, LEAST_BLAMED, signs=False))
    return Agreement.OTHER if blamed > max(tolerance.blame, FAR) else Agreement.DOUBTFUL


def are_unusual(figures: Figures, others: Sequence[Figures], factor: float) -> bool:
    """Whether the loss or a sum is unusual beside those of all `others`; counts may differ by TURNED."""
    if is_unusual(figures.loss, [other.loss for other in others], factor):
        return True
    columns = zip(*(chain.from_iterable(other.sums) for other in others), strict=True)
    return any(
        is_unusual(value, column, factor)
        and not (value == round(value) and min(abs(value - other) for other in column) <= TURNED)
        for value, column in zip(chain.from_iterable(figures.sums), columns, strict=True)
    )


def is_unusual(value: float, others: Sequence[float], factor: float) -> bool:
    """Whether a loss or sum is more than `factor` times above, or below, all `others`."""
    low, high = min(others), max(others)
    floor = low / factor if low > LEAST_LOSS else min(factor * low, 0.0)
    return not floor <= value <= factor * max(high, LEAST_LOSS)


def _distances(first: Figures, second: Figures, least: float, *, signs: bool = True) -> Iterator[float]:
    """Yields the relative difference of the losses, which are at least `least`, and of each sum.

    Without `signs` it is 0 between figures of unlike signs.
    """

    def apart(one: float, other: float) -> float:
        return abs(one - other) if signs or one * other >= 0.0 else 0.0

    yield apart(first.loss, second.loss) / max(abs(first.loss), abs(second.loss), least)
    for one, other in zip(first.sums, second.sums, strict=True):
        # A numerator is compared beside its denominator: one right answer of a hundred may be none elsewhere.
        scale = max(map(abs, chain(one, other)))
        for a, b in zip(one, other, strict=True):
            gap = apart(a, b)
            counts = a == round(a) and b == round(b)
            yield 0.0 if not gap or (counts and gap <= TURNED) else gap / scale
