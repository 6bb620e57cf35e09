"""Computes metrics from the numerators and denominators that a bundle's graphs count."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Protocol

Pairs = Sequence[tuple[float, float]]


class Metric(Protocol):
    """A metric's name, its kind (a key of METRICS) and its number of rows of pairs."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def rows(self) -> int: ...


def ratio(pairs: Pairs) -> float:
    """Mean of numerator / denominator over the pairs whose denominator is not 0; 0 if there is none."""
    ratios = [numerator / denominator for numerator, denominator in pairs if denominator]
    return math.fsum(ratios) / len(ratios) if ratios else 0.0


def root(pairs: Pairs) -> float:
    """Square root of the ratio."""
    return math.sqrt(max(ratio(pairs), 0.0))


def total(pairs: Pairs) -> float:
    """Sum of the numerators."""
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


def metric_values(specs: Sequence[Metric], reports: Sequence[Pairs]) -> dict[str, float]:
    """Returns each metric over all `reports`; a report has a pair for each row of all metrics.

    The sums come from clients and may be wrong: a metric that is not a finite number is left out.
    """
    added = [_added(pairs) for pairs in zip(*reports, strict=True)]
    starts = accumulate((spec.rows for spec in specs), initial=0)
    values: dict[str, float] = {}
    for spec, start in zip(specs, starts, strict=False):
        try:
            value = METRICS[spec.kind](added[start : start + spec.rows])
        except (ArithmeticError, ValueError):
            continue
        if math.isfinite(value):
            values[spec.name] = value
    return values


def _added(pairs: Pairs) -> tuple[float, float]:
    return math.fsum(above for above, _ in pairs), math.fsum(below for _, below in pairs)
