"""Checks an update before it counts."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from backend.errors import NormTooLargeError, NotFiniteError
from backend.numerics.vectors import Vector, blocks

# Far above any loss or metric of a model that still learns; thousands of such values add up without overflow.
MAX_REPORTED = 1e30


class Norm:
    """L2 norm of an update, summed up as its values arrive.

    The dot product of a block with itself is finite only if all its values are, and takes one pass while they
    are in the cache. It can also overflow for finite values, which a second pass distinguishes.
    """

    def __init__(self) -> None:
        self._squares = 0.0

    def add(self, values: Vector) -> None:
        """Adds more values. Raises NotFiniteError for NaN or infinity."""
        with np.errstate(over="ignore", invalid="ignore"):
            square = float(np.dot(values, values))
        if not math.isfinite(square):
            if not all_finite(values):
                raise NotFiniteError(
                    "The update holds NaN or infinity. Lower the learning rate or try another backend."
                )
            wide = values.astype(np.float64)
            square = float(np.dot(wide, wide))
        self._squares += square

    def within(self, limit: float) -> float:
        """Returns the norm. Raises NormTooLargeError if it exceeds `limit`."""
        norm = math.sqrt(self._squares)
        if norm > limit:
            raise NormTooLargeError(
                f"The update's L2 norm is {norm:.6g}; this task takes at most {limit:.6g}. "
                "Lower the learning rate or train fewer epochs."
            )
        return norm


def check_finite(name: str, values: Iterable[float]) -> None:
    """Raises NotFiniteError if one of `values` is NaN, infinite, or so large that sums could overflow."""
    if not all(abs(value) <= MAX_REPORTED for value in values):
        raise NotFiniteError(
            f"The {name} holds NaN, infinity or a number over {MAX_REPORTED:g}. "
            "Lower the learning rate or try another backend."
        )


def all_finite(vector: Vector) -> bool:
    """Whether no value of `vector` is NaN or infinite."""
    return all(bool(np.isfinite(vector[part]).all()) for part in blocks(len(vector)))
