"""Keeps what recent valid results of a task look like, to find single ones that are unlike them."""

from __future__ import annotations

import statistics
import threading
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from backend.numerics.aggregation.figure_agreement import Figures, are_unusual

# An update norm is an outlier when it differs from the median of the last WINDOW by more than OUTLIER_FACTOR
# times, a loss or metric sum when it does so from all of them; this needs MIN_NORMS samples.
OUTLIER_FACTOR, WINDOW, MIN_NORMS = 5.0, 64, 8


@dataclass(frozen=True)
class UsualResult:
    """The norm of a valid result's update, and the figures that it reported."""

    norm: float
    figures: Figures


class UsualResults:
    """Owns the last WINDOW valid results. Checkpoints have them, as they have trust. Thread-safe."""

    def __init__(self, known: Iterable[UsualResult] = ()) -> None:
        self._results: deque[UsualResult] = deque(known, maxlen=WINDOW)
        self._lock = threading.Lock()

    def add(self, result: UsualResult) -> None:
        """Adds a valid result."""
        with self._lock:
            self._results.append(result)

    def recent(self) -> list[UsualResult]:
        """Returns the results, the newest last."""
        with self._lock:
            return list(self._results)

    def is_outlier(self, result: UsualResult) -> bool:
        """Whether the update norm of a result, its loss or one of its sums is an outlier."""
        # The model of an earlier run may have had other metrics.
        count = len(result.figures.sums)
        others = [other for other in self.recent() if len(other.figures.sums) == count]
        if len(others) < MIN_NORMS:
            return False
        if are_unusual(result.figures, [other.figures for other in others], OUTLIER_FACTOR):
            return True
        median = statistics.median(other.norm for other in others)
        return not median / OUTLIER_FACTOR <= result.norm <= median * OUTLIER_FACTOR
