"""Encodes class names as stored labels."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backend.errors import DataError
from backend.numerics.preprocess.fitted import ClassLabel


@lru_cache(maxsize=256)
def positions(names: tuple[str, ...]) -> dict[str, int]:
    """Returns the position of each name."""
    return {name: number for number, name in enumerate(names)}


def class_value(label: ClassLabel, name: str) -> NDArray[Any]:
    """Returns the stored label of the class `name`. Raises DataError if there is no such class."""
    position = positions(tuple(label.classes)).get(name)
    if position is None:
        known = ", ".join(label.classes[:12]) + (", ..." if len(label.classes) > 12 else "")
        raise DataError(f"'{name[:60]}' is no class of this task; they are {known}.")
    if label.encoding == "index":
        return np.array(position, np.int32)
    if label.encoding == "number":
        return np.array([position], np.float32)
    row = np.zeros(len(label.classes), np.float32)
    row[position] = 1.0
    return row
