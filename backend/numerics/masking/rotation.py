"""A random rotation, the same for all clients of a round: it spreads an update's norm over its values.

It is random signs, then a Walsh-Hadamard transform (Suresh et al. 2017, "Distributed mean estimation with
limited communication", section 3). A transform takes a power of two of values: the largest that fits is
applied to the first values, then to the last, so that no padding is needed. Sums are float32 in a fixed
order: the TypeScript twin, webapp/static/src/core/numerics/masking/rotation.ts, computes the same bits.
"""

from __future__ import annotations

import math

import numpy as np

from backend.numerics.masking.bit_packing import FULL_BITS, Words
from backend.numerics.vectors import BLOCK_VALUES, Vector

# A rotated value exceeds BOUND_FACTOR * norm / sqrt(span) with a probability below 2 exp(-BOUND_FACTOR^2/2).
BOUND_FACTOR = 6.0


def span(size: int) -> int:
    """Returns the values of one transform: the largest power of two up to `size` > 0."""
    return 1 << (size.bit_length() - 1)


def sign_words(size: int) -> int:
    """Returns the number of random words for the signs of a rotation of `size` values."""
    return len(_starts(size)) * _words_of(span(size))


def clamped(size: int) -> float:
    """Bounds the expected number of values over the bound in a rotated update of `size` (Hoeffding 1963)."""
    return 2.0 * size * math.exp(-(BOUND_FACTOR**2) / 2)


def rotate(values: Vector, signs: Words) -> Vector:
    """Rotates `values` by the signs in `signs` [sign_words(n)]; length and L2 norm stay the same."""
    rotated = values.copy()
    for start, part_signs in _transforms(len(values), signs):
        part = rotated[start : start + span(len(values))]
        _flip(part, part_signs)
        transform(part)
    return rotated


def rotate_back(values: Vector, signs: Words) -> Vector:
    """Reverses `rotate`, up to float32 rounding."""
    back = values.copy()
    for start, part_signs in reversed(_transforms(len(values), signs)):
        part = back[start : start + span(len(values))]
        transform(part)
        _flip(part, part_signs)
    return back


def transform(values: Vector) -> None:
    """Walsh-Hadamard transform of 2^p values, in place and unscaled: norms become 2^(p/2) times as large."""
    size = min(len(values), BLOCK_VALUES)
    for start in range(0, len(values), size):
        _transform_block(values[start : start + size])
    half = size
    while half < len(values):
        pairs = values.reshape(-1, 2, half)
        for low, high in pairs:
            for start in range(0, half, size):
                _add_and_subtract(low[start : start + size], high[start : start + size])
        half *= 2


def _transform_block(block: Vector) -> None:
    """As `transform`. The first half of the sums, of near neighbours, is computed on the transposed block."""
    columns = 1 << ((len(block).bit_length() - 1) // 2)
    transposed = np.ascontiguousarray(block.reshape(-1, columns).T)
    _sums(transposed.reshape(-1), len(block) // columns)
    block.reshape(-1, columns)[:] = transposed.T
    _sums(block, columns)


def _sums(values: Vector, half: int) -> None:
    while half < len(values):
        pairs = values.reshape(-1, 2, half)
        _add_and_subtract(pairs[:, 0], pairs[:, 1])
        half *= 2


def _add_and_subtract(low: Vector, high: Vector) -> None:
    difference = low - high
    low += high
    high[:] = difference


def _flip(values: Vector, signs: Words) -> None:
    """Multiplies by 1 / sqrt(n), and by -1 where a bit of `signs` is set (the lowest bit is the first)."""
    scale = np.float32(1.0 / math.sqrt(len(values)))
    factors = np.array([scale, -scale], np.float32)
    values *= factors[np.unpackbits(signs.astype("<u4").view(np.uint8), count=len(values), bitorder="little")]


def _transforms(size: int, signs: Words) -> list[tuple[int, Words]]:
    """Returns the start of each transform, with its signs."""
    if len(signs) != sign_words(size):
        raise ValueError(f"A rotation of {size} values takes {sign_words(size)} random words.")
    count = _words_of(span(size))
    return [(start, signs[n * count : (n + 1) * count]) for n, start in enumerate(_starts(size))]


def _starts(size: int) -> list[int]:
    return [0] if span(size) == size else [0, size - span(size)]


def _words_of(values: int) -> int:
    return -(-values // FULL_BITS)
