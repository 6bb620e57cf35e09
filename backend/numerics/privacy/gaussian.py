"""Draws Gaussian noise from uniform words, e.g. of a keystream. `privacy/gaussian.ts` is the twin."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from backend.numerics.privacy import Words
from backend.numerics.vectors import Vector64, blocks

# Words for one value; values are drawn in pairs.
WORDS = 2


def uniform_words(values: int) -> int:
    """Returns the number of words that `gaussian` takes for at least this number of values."""
    return 2 * WORDS * -(-values // 2)


def gaussian(words: NDArray[np.uint32]) -> NDArray[np.float64]:
    """Returns standard normal values [n / 2] from uniform words [n], n a multiple of 4 (Box and Muller 1958).

    Uniform numbers have 53 bits, so that values reach 8.6 standard deviations. Four words make two values:
    the first two words give the radius, the last two the angle.
    """
    if words.dtype != np.uint32 or words.ndim != 1 or words.size % (2 * WORDS):
        raise ValueError("Gaussian noise is drawn from a flat array of uint32, four at a time.")
    quads = words.reshape(-1, 2 * WORDS)
    radius = np.sqrt(-2.0 * np.log(_open_unit(quads[:, 0], quads[:, 1])))
    angle = 2.0 * np.pi * _open_unit(quads[:, 2], quads[:, 3])
    pairs: NDArray[np.float64] = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    return pairs.ravel()


def add_gaussian(values: Vector64, scale: float, words: Words) -> None:
    """Adds noise with the standard deviation `scale` to each of `values`, in place, block by block."""
    for part in blocks(len(values)):
        size = part.stop - part.start
        values[part] += scale * gaussian(words(uniform_words(size)))[:size]


def _open_unit(high: NDArray[np.uint32], low: NDArray[np.uint32]) -> NDArray[np.float64]:
    """Returns numbers in (0, 1): the middles of 2**52 intervals, which are exact in float64."""
    whole: NDArray[np.float64] = high * 2.0**20 + (low >> np.uint32(12)) + 0.5
    return whole * 2.0**-52
