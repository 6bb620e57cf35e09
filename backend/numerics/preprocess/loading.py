"""Loads stored values as inputs of the graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Factor = float | list[float]


def load_values(stored: NDArray[Any], scale: Factor, offset: Factor) -> NDArray[np.float32]:
    """Returns float32(float32(stored * scale) + offset); lists apply along the last axis."""
    return stored.astype(np.float32) * np.asarray(scale, np.float32) + np.asarray(offset, np.float32)
