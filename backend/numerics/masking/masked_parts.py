"""Pieces of a group that hides them, as whole numbers: 32-bit words whose sum modulo 2**32 is the mean.

docs/decisions/0032-masks-in-a-group.md has the rules under "Numbers";
tests/contract/vectors/masked_pieces.json holds Python and TypeScript to the same words. Masks are added
elsewhere (backend/crypto/pads.py): to a word they are whole numbers like any other.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from backend.errors import NotFiniteError, WrongLengthError
from backend.numerics.aggregation.update_checks import all_finite
from backend.numerics.precision import MASKED_BYTES, Bytes
from backend.numerics.vectors import Vector, blocks

Words = NDArray[np.uint32]

# Values beyond are set to it: of changes of weights, and of weights. Powers of two, so that scaling is exact.
MOST_OF = {"changes": 64.0, "weights": 4096.0}
# A mean of `most` is this word. Twice of it still fits, so that a sum of honest pieces never wraps around.
_FULL = 1 << 30
# What shares, which are rounded, and rounded words can add to it.
_SLACK = 1 << 10


def piece_words(values: Vector, share: np.float32, subject: str) -> Words:
    """The words of `values` [n] times the member's `share` of all weight, without masks.

    The product is exact in float64, and rounded once (to even). Raises NotFiniteError for NaN or infinity.
    """
    if not all_finite(values):
        raise NotFiniteError("The weights hold NaN or infinity. Lower the learning rate.")
    most = MOST_OF[subject]
    factor = float(share) * (_FULL / most)
    words = np.empty(len(values), np.uint32)
    for part in blocks(len(values)):
        scaled = np.clip(values[part], -most, most).astype(np.float64)
        scaled *= factor
        words[part] = np.rint(scaled).astype(np.int64).astype(np.uint32)
    return words


def add_words(pieces: Iterable[Bytes], total: Words) -> None:
    """Adds `pieces`, as they came, to `total` [n] modulo 2**32, in place."""
    for piece in pieces:
        total += piece.view("<u4")


def checked_piece(data: Bytes, values: int) -> Bytes:
    """`data`, when it is `values` words; any words may be a masked piece. Raises WrongLengthError."""
    if len(data) != MASKED_BYTES * values:
        raise WrongLengthError(f"{values} masked values are {MASKED_BYTES * values} bytes, not {len(data)}.")
    return data


def checked_mean(data: Bytes, values: int) -> Bytes:
    """`data`, when it is the words of a mean that members can have made together.

    Raises WrongLengthError, or NotFiniteError for a mean beyond what they may send: then somebody's masks
    were not taken off.
    """
    words = checked_piece(data, values).view("<i4")
    most = _FULL + _SLACK
    if not all(_within(words[part], most) for part in blocks(values)):
        raise NotFiniteError("The sum is beyond what members may send: masks were left in it.")
    return data


def mean_into(data: Bytes, subject: str, out: Vector) -> None:
    """Decodes the words of a mean, which were checked, into `out` [its values]."""
    words, unit = data.view("<i4"), MOST_OF[subject] / _FULL
    for part in blocks(len(out)):
        out[part] = words[part] * unit


def to_bytes(words: Words) -> Bytes:
    """Little-endian bytes of `words`, which must not change while they are in use."""
    data: Bytes = words.astype("<u4", copy=False).view(np.uint8)
    return data


def _within(words: NDArray[np.int32], most: int) -> bool:
    return bool(int(words.max()) <= most and int(words.min()) >= -most)
