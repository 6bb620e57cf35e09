"""The sums of masked groups in the lab: the encoding of masked rounds, without the masks, which cancel."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from backend.numerics.masking.bit_packing import Words
from backend.numerics.masking.encoding import Encoding, contribution, decode, encode
from backend.numerics.vectors import Vector

BITS = 32


def group_means(
    updates: Sequence[tuple[Vector, int]],
    liars: Collection[int],
    groups: int,
    clip: float,
    random: np.random.Generator,
) -> list[Vector]:
    """Returns the means of `groups` random groups of updates [P], each given with its number of examples.

    Honest clients clip and round as clients of masked rounds do. The clients numbered in `liars` send their
    update in whole, with the weight 1: nobody sees it. A client with a value that is not finite sends
    nothing. A group whose sum means nothing has no mean.
    """
    order = random.permutation(len(updates))
    full = max(examples for _, examples in updates)
    means = []
    for first in range(groups):
        members = order[first::groups].tolist()
        encoding = Encoding(len(members), len(updates[0][0]), 0, BITS, clip)
        total = np.zeros(encoding.words, np.uint32)
        for member in members:
            update, examples = updates[member]
            if not np.isfinite(update).all():
                continue
            if member in liars:
                total += _lie(encoding, update)
                continue
            words = random.integers(0, 1 << 32, encoding.words, np.uint32)
            encode(encoding, contribution(update, examples, full, 0.0, []), words)
            total += words
        try:
            means.append(decode(encoding, total).mean)
        except ValueError:
            continue
    return means


def _lie(encoding: Encoding, update: Vector) -> Words:
    """Returns the words of an update that is not clipped: values wrap beyond the modulus."""
    words = np.zeros(encoding.words, np.uint32)
    # Beyond this a float64 has no whole number of 64 bits.
    whole = np.clip(np.rint(update / np.float64(encoding.step)), -(2.0**62), 2.0**62)
    words[: encoding.parameters] = whole.astype(np.int64).astype(np.uint32)
    words[encoding.parameters] = encoding.further_levels
    return words
