"""Finds the class that a suspiciously small trigger reaches (Neural Cleanse, Wang et al. 2019).

A norm is the L1 norm of the smallest mask that turns examples of all classes into one class. A backdoor is a
short cut: the mask of its target class is much smaller than those of the other classes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# Makes the median absolute deviation of normal values their standard deviation.
MAD_SCALE = 1.4826
# With fewer classes no class can be told from the others.
MIN_CLASSES = 3
# Masks below a thousandth of an element are equally small: nothing has to be changed at all.
_SMALLEST = 1e-3


@dataclass(frozen=True)
class TriggerOutlier:
    """The class `target` whose mask is smallest beside the others.

    `ratio` is the median norm divided by the target's, `lead` the second smallest norm divided by it.
    `anomaly_index` is the distance of the target's norm from the median in units of the scaled median
    absolute deviation (Wang et al. 2019, section IV-B). With ten classes that deviation is itself uncertain,
    so that honest models reach an index of 3, too.
    """

    target: int
    ratio: float
    lead: float
    anomaly_index: float

    @property
    def strength(self) -> float:
        """The geometric mean of `ratio` and `lead`: 1 where no class stands out."""
        return math.sqrt(self.ratio * self.lead)


def trigger_outlier(norms: Sequence[float]) -> TriggerOutlier:
    """Returns the outlier among the masks' L1 norms [classes].

    Raises ValueError for fewer than MIN_CLASSES norms or norms that are negative or not finite.
    """
    values = _checked(norms)
    target, middle = int(values.argmin()), float(np.median(values))
    deviation = MAD_SCALE * float(np.median(np.abs(values - middle)))
    distance = middle - float(values[target])
    index = distance / deviation if deviation > 0 else (np.inf if distance > 0 else 0.0)
    smallest, second = np.partition(values, 1)[:2]
    return TriggerOutlier(target, middle / float(smallest), float(second / smallest), float(index))


def trigger_change(before: Sequence[float], after: Sequence[float]) -> TriggerOutlier:
    """Returns the class whose mask shrank most from version `before` to `after`, beside the other classes.

    Norms [classes] of both versions. The norms before are divided by those after: training that makes all
    classes easier to reach moves the median as well. Raises ValueError as `trigger_outlier` and for
    different numbers of classes.
    """
    old, new = _checked(before), _checked(after)
    if len(old) != len(new):
        raise ValueError(f"{len(old)} classes cannot be compared with {len(new)}.")
    return trigger_outlier((new / old).tolist())


def _checked(norms: Sequence[float]) -> NDArray[np.float64]:
    values = np.asarray(norms, np.float64)
    if values.ndim != 1 or len(values) < MIN_CLASSES:
        raise ValueError(f"At least {MIN_CLASSES} classes are needed, not {values.size}.")
    if not np.all(np.isfinite(values)) or values.min() < 0:
        raise ValueError("Norms are finite and not negative.")
    return np.maximum(values, _SMALLEST)
