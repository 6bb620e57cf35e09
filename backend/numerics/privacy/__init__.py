"""Noise that hides one client's contribution to a sum, and the clipping that bounds it.

Callers pass randomness as words of a cryptographic generator: a `Words` returns the next n of its stream.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Words: TypeAlias = Callable[[int], NDArray[np.uint32]]


def deviation(clip: float, noise_multiplier: float) -> float:
    """Returns the standard deviation of the noise on each value, if `clip` bounds a client's contribution.

    Every mechanism uses this scale: it is the deviation, not its square (Dwork and Roth 2014, A.1).
    """
    return clip * noise_multiplier
