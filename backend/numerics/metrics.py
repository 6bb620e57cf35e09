"""What a metric makes of the numerators and denominators that a bundle's graphs count."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

Pairs = Sequence[tuple[float, float]]


def ratio(pairs: Pairs) -> float:
    """Mean of numerator / denominator over the pairs whose denominator is not 0; 0 where none is."""
    ratios = [numerator / denominator for numerator, denominator in pairs if denominator]
    return math.fsum(ratios) / len(ratios) if ratios else 0.0


def root(pairs: Pairs) -> float:
    """Square root of the ratio."""
    return math.sqrt(max(ratio(pairs), 0.0))


def total(pairs: Pairs) -> float:
    """The numerators alone."""
    return math.fsum(numerator for numerator, _ in pairs)


def area(pairs: Pairs) -> float:
    """Area under the receiver operating characteristic, by trapezoids.

    A pair holds true and false positives at one threshold; the first threshold lies below every prediction.
    """
    positives, negatives = pairs[0]
    if not positives or not negatives:
        return 0.0
    doubled = (
        (alarms - fewer_alarms) * (hits + fewer_hits)
        for (hits, alarms), (fewer_hits, fewer_alarms) in pairwise(pairs)
    )
    return math.fsum(doubled) / (2.0 * positives * negatives)


METRICS = {"ratio": ratio, "root": root, "mean": ratio, "sum": total, "auc": area}
