"""Stored values become what the graphs take."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Factor = float | list[float]


def load_values(stored: NDArray[Any], scale: Factor, offset: Factor) -> NDArray[np.float32]:
    """float32(float32(stored * scale) + offset); lists go along the last axis."""
    return stored.astype(np.float32) * np.asarray(scale, np.float32) + np.asarray(offset, np.float32)
