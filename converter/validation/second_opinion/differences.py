"""Measures how far a bundle's numbers lie from Keras', each on the scale on which it matters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = Mapping[str, NDArray[Any]]
# Below this part of the whole, the difference of one array counts by the whole.
SMALL_PART = 1e-3
# Numbers near zero are rarely meant; below this, differences count absolutely.
FLOOR = 1e-4
# What float32 may lose when it stores a number.
ROUNDING = 2.0**-22
# The relative distance of neighbouring float32 numbers.
EPSILON = 2.0**-23


def difference(ours: Any, theirs: Any, least: float = FLOOR) -> float:
    """Returns the L2 distance of two arrays by the length of the second, at least `least`.

    It is infinite where shapes differ or only one of them is finite.
    """
    ours, theirs = np.asarray(ours, np.float64), np.asarray(theirs, np.float64)
    if ours.shape != theirs.shape or not np.isfinite(ours).all():
        return float("inf")
    distance = float(np.linalg.norm(ours - theirs))
    return distance / max(float(np.linalg.norm(theirs)), least)


def differences(ours: Arrays, theirs: Arrays) -> dict[str, float]:
    """Returns the difference of each array that Keras names; infinite where the bundle has none."""
    return {name: difference(ours.get(name, np.nan), value) for name, value in theirs.items()}


def part_differences(
    names: Sequence[str], ours: Sequence[Any], theirs: Sequence[Any], stored: Sequence[Any] | None = None
) -> dict[str, float]:
    """Returns the differences of the parts of one vector, such as a gradient, by name.

    Each is measured by its own length, at least SMALL_PART of the whole. `stored` are values to which the
    parts were added before float32 stored the sum.
    """
    scales = _scales(theirs)
    result = {}
    for index, name in enumerate(names):
        ours_part, theirs_part = np.float64(ours[index]), np.float64(theirs[index])
        lost = ROUNDING * float(np.linalg.norm(stored[index])) if stored is not None else 0.0
        distance = float(np.linalg.norm(ours_part - theirs_part))
        result[name] = max(distance - lost, 0.0) / scales[index] if np.isfinite(distance) else float("inf")
    return result


def cancellation(names: Sequence[str], gradient: Sequence[Any], loss: float) -> dict[str, float]:
    """Returns what float32 may change in each part of a gradient, by name.

    Terms as large as the loss cancel out in a small part, such as the bias of a balanced classifier.
    """
    return {name: EPSILON * abs(loss) / scale for name, scale in zip(names, _scales(gradient), strict=True)}


def _scales(parts: Sequence[Any]) -> list[float]:
    """Returns the length of each part of a vector, at least SMALL_PART of the whole."""
    lengths = [float(np.linalg.norm(np.float64(part))) for part in parts]
    whole = float(np.linalg.norm(lengths))
    return [max(length, SMALL_PART * whole, 1e-30) for length in lengths]
