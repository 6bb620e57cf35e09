"""Noise that hides what one client adds to a sum, and the clipping that bounds it.

Randomness is handed in as words of a cryptographic generator: a `Words` gives the next n of its stream.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Words: TypeAlias = Callable[[int], NDArray[np.uint32]]


def deviation(clip: float, noise_multiplier: float) -> float:
    """The standard deviation of the noise on each value, where no client changes a sum by more than `clip`.

    Every mechanism takes its scale from here: it is the deviation, not its square (Dwork and Roth 2014, A.1).
    """
    return clip * noise_multiplier
