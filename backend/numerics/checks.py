"""What an update must pass before it may count."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from backend.errors import NormTooLargeError, NotFiniteError
from backend.numerics.vectors import Vector, blocks

# No loss or metric of a model that still learns comes near it, and thousands of them add up without overflow.
MAX_REPORTED = 1e30


def check_update(update: Vector, max_norm: float) -> float:
    """L2 norm of `update` (float32, any length), found good.

    A dot product of a block with itself is finite only if all its values are, and costs one pass. It can also
    overflow for finite values; those are beyond any sensible bound and told apart by a second look.
    Raises NotFiniteError for NaN or infinity, NormTooLargeError when the norm is over `max_norm`.
    """
    squares = 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        for part in blocks(len(update)):
            block = update[part]
            square = float(np.dot(block, block))
            if not math.isfinite(square):
                if not bool(np.isfinite(block).all()):
                    raise NotFiniteError(
                        "The update holds NaN or infinity. Lower the learning rate or try another backend."
                    )
                square = float(np.dot(block.astype(np.float64), block.astype(np.float64)))
            squares += square
    norm = math.sqrt(squares)
    if norm > max_norm:
        raise NormTooLargeError(
            f"The update's L2 norm is {norm:.6g}; this task takes at most {max_norm:.6g}. "
            "Lower the learning rate or train fewer epochs."
        )
    return norm


def check_finite(name: str, values: Iterable[float]) -> None:
    """Raises NotFiniteError when one of `values` is NaN, infinite, or so large that sums could overflow."""
    if not all(abs(value) <= MAX_REPORTED for value in values):
        raise NotFiniteError(
            f"The {name} holds NaN, infinity or a number over {MAX_REPORTED:g}. "
            "Lower the learning rate or try another backend."
        )


def all_finite(vector: Vector) -> bool:
    """Whether no value of `vector` is NaN or infinite."""
    return all(bool(np.isfinite(vector[part]).all()) for part in blocks(len(vector)))
