"""The share of an update that everybody in a masked round sends, and what a client still owes of the others.

A vector is cut into blocks of 64 values. Some of them are chosen, the same for all clients of a round, by
random words that everybody knows; the values after the last whole block always go along, so that every draw
has as many. What is not sent is added to the client's next update (error feedback: Stich et al. 2018,
"Sparsified SGD with memory"). The TypeScript twin is webapp/static/src/core/numerics/masking/sparse.ts;
tests/contract/vectors/sparse.json holds both to the same places.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from backend.numerics.masking.bit_packing import Words
from backend.numerics.vectors import Vector

# 256 bytes: a copy of a block costs hardly more than one of a value, and a draw a 64th of one for each value.
BLOCK = 64


def block_count(parameters: int) -> int:
    """Whole blocks of so many values: as many random words as a draw takes."""
    return parameters // BLOCK


def chosen_values(parameters: int, share: float) -> int:
    """Values that are sent of `parameters`, whatever the draw."""
    return BLOCK * _chosen_blocks(parameters, share) + parameters % BLOCK


@dataclass(frozen=True)
class Chosen:
    """What is sent of vectors of `parameters` values: `blocks`, which ascend, and what follows the last."""

    parameters: int
    blocks: NDArray[np.intp]

    def split(self, values: Vector) -> tuple[Vector, Vector]:
        """Of `values` [parameters] those that are sent, in their order, and a copy with zeros for them."""
        left = values.copy()
        whole = _whole(left)
        sent = np.concatenate([whole[self.blocks].reshape(-1), left[whole.size :]])
        whole[self.blocks] = 0.0
        left[whole.size :] = 0.0
        return sent, left

    def spread(self, sent: Vector) -> Vector:
        """The values that were `sent` in their places [parameters], zeros in all others."""
        values = np.zeros(self.parameters, np.float32)
        whole, count = _whole(values), BLOCK * len(self.blocks)
        whole[self.blocks] = sent[:count].reshape(-1, BLOCK)
        values[whole.size :] = sent[count:]
        return values


def choose(parameters: int, share: float, words: Words) -> Chosen:
    """The blocks with the smallest of `words` [block_count], the earlier one where two are the same."""
    order = np.argsort(words, kind="stable")
    return Chosen(parameters, np.sort(order[: _chosen_blocks(parameters, share)]))


class Residual:
    """What a client's updates that count left unsent, by the version that they began with.

    An update counts when it was accepted; if its round is abandoned nevertheless, the same version is trained
    again. So what was left at that version or later is forgotten then, and what was left before is back.
    """

    def __init__(self) -> None:
        # One that may still be forgotten, and the one before it.
        self._left: list[tuple[int, Vector]] = []

    def own(self, version: int, length: int) -> Vector:
        """What an update from `version` has to take along [length]: zeros where nothing is left."""
        self._left = [one for one in self._left if one[0] < version]
        if not self._left or self._left[-1][1].shape != (length,):
            return np.zeros(length, np.float32)
        return self._left[-1][1]

    def keep(self, version: int, left: Vector) -> None:
        """An update from `version` counts that had `left` unsent."""
        self._left = [*[one for one in self._left if one[0] < version][-1:], (version, left)]


def _chosen_blocks(parameters: int, share: float) -> int:
    return math.ceil(share * block_count(parameters))


def _whole(values: Vector) -> Vector:
    """The whole blocks of `values`, as rows."""
    return values[: BLOCK * block_count(len(values))].reshape(-1, BLOCK)
