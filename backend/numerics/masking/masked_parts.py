"""Encodes the pieces of a masked group as 32-bit words, whose sum modulo 2**32 is the mean.

docs/decisions/0032-masks-in-a-group.md has the rules under "Numbers";
tests/contract/vectors/masked_pieces.json tests that Python and TypeScript make the same words.
backend/crypto/pads.py adds the masks.
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

# Values are clipped to this: changes of weights, and weights. Powers of two, so that scaling is exact.
MAX_VALUE = {"changes": 64.0, "weights": 4096.0}
# The word of a mean of MAX_VALUE. Twice this number fits, so a sum of honest pieces never wraps around.
_FULL = 1 << 30
# The most that the rounding of shares and words can add to a mean.
_SLACK = 1 << 10


def piece_words(values: Vector, share: np.float32, subject: str) -> Words:
    """Returns the words of `values` [n] times the member's `share` of all weight, without masks.

    The product is exact in float64 and is rounded once (to even). Raises NotFiniteError for NaN or infinity.
    """
    if not all_finite(values):
        raise NotFiniteError("The weights hold NaN or infinity. Lower the learning rate.")
    limit = MAX_VALUE[subject]
    factor = float(share) * (_FULL / limit)
    words = np.empty(len(values), np.uint32)
    for part in blocks(len(values)):
        scaled = np.clip(values[part], -limit, limit).astype(np.float64)
        scaled *= factor
        words[part] = np.rint(scaled).astype(np.int64).astype(np.uint32)
    return words


def add_words(pieces: Iterable[Bytes], total: Words) -> None:
    """Adds the received `pieces` to `total` [n] modulo 2**32, in place."""
    for piece in pieces:
        total += piece.view("<u4")


def checked_piece(data: Bytes, values: int) -> Bytes:
    """Returns `data` if it is `values` words, of any content. Raises WrongLengthError otherwise."""
    if len(data) != MASKED_BYTES * values:
        raise WrongLengthError(f"{values} masked values are {MASKED_BYTES * values} bytes, not {len(data)}.")
    return data


def checked_mean(data: Bytes, values: int) -> Bytes:
    """Returns `data` if it is the words of a mean in the range that members may send.

    Raises WrongLengthError, or NotFiniteError for a mean out of range: then a member's masks were not
    removed.
    """
    words = checked_piece(data, values).view("<i4")
    limit = _FULL + _SLACK
    if not all(_within(words[part], limit) for part in blocks(values)):
        raise NotFiniteError("The sum is beyond what members may send: masks were left in it.")
    return data


def mean_into(data: Bytes, subject: str, out: Vector) -> None:
    """Decodes the checked words of a mean into `out` [its values]."""
    words, unit = data.view("<i4"), MAX_VALUE[subject] / _FULL
    for part in blocks(len(out)):
        out[part] = words[part] * unit


def to_bytes(words: Words) -> Bytes:
    """Returns the little-endian bytes of `words`, which must not change while they are in use."""
    data: Bytes = words.astype("<u4", copy=False).view(np.uint8)
    return data


def _within(words: NDArray[np.int32], limit: int) -> bool:
    return bool(int(words.max()) <= limit and int(words.min()) >= -limit)
