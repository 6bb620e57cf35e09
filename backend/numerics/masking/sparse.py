"""The share of an update that all clients of a masked round send, and the residual that a client keeps.

A vector is cut into blocks of 64 values. Public random words choose some blocks, the same for all clients of
a round; the values after the last whole block are always sent, so that every draw has the same number of
values. The values not sent are added to the client's next update (error feedback: Stich et al. 2018,
"Sparsified SGD with memory"). The TypeScript twin is webapp/static/src/core/numerics/masking/sparse.ts;
tests/contract/vectors/sparse.json tests that both choose the same places.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from backend.numerics.masking.bit_packing import Words
from backend.numerics.vectors import Vector

# 256 bytes: copying a block costs little more than copying a value, and a draw takes a 64th of the words.
BLOCK = 64


def block_count(parameters: int) -> int:
    """Returns the number of whole blocks, which is the number of random words that a draw takes."""
    return parameters // BLOCK


def chosen_values(parameters: int, share: float) -> int:
    """Returns the number of values sent of `parameters`, which does not depend on the draw."""
    return BLOCK * _chosen_blocks(parameters, share) + parameters % BLOCK


@dataclass(frozen=True)
class ChosenValues:
    """The sent values of `parameters`: ascending `blocks`, and the values after the last whole block."""

    parameters: int
    blocks: NDArray[np.intp]

    def split(self, values: Vector) -> tuple[Vector, Vector]:
        """Returns the sent values of `values` [parameters] in order, and a copy with zeros in their place."""
        unsent = values.copy()
        whole = _whole(unsent)
        sent = np.concatenate([whole[self.blocks].reshape(-1), unsent[whole.size :]])
        whole[self.blocks] = 0.0
        unsent[whole.size :] = 0.0
        return sent, unsent

    def spread(self, sent: Vector) -> Vector:
        """Returns the `sent` values in their places [parameters], with zeros in all others."""
        values = np.zeros(self.parameters, np.float32)
        whole, count = _whole(values), BLOCK * len(self.blocks)
        whole[self.blocks] = sent[:count].reshape(-1, BLOCK)
        values[whole.size :] = sent[count:]
        return values


def choose(parameters: int, share: float, words: Words) -> ChosenValues:
    """Chooses the blocks with the smallest of `words` [block_count]; of equal words the earlier."""
    order = np.argsort(words, kind="stable")
    return ChosenValues(parameters, np.sort(order[: _chosen_blocks(parameters, share)]))


class Residual:
    """The values that a client's counted updates left unsent, by the version that they began with.

    An update counts when it was accepted. If its round is abandoned and the same version trained again, the
    residual of that version or a later one is dropped, and the earlier one is restored. If it failed after
    reveals, the next version is trained: what was sent is lost, and the residual stays.
    """

    def __init__(self) -> None:
        # A residual that may still be dropped, and the one before it.
        self._residuals: list[tuple[int, Vector]] = []

    def own(self, version: int, length: int) -> Vector:
        """Returns the residual [length] that an update from `version` has to include; maybe zeros."""
        self._residuals = self._before(version)
        if not self._residuals or self._residuals[-1][1].shape != (length,):
            return np.zeros(length, np.float32)
        return self._residuals[-1][1]

    def keep(self, version: int, values: Vector) -> None:
        """Stores the residual of a counted update from `version`."""
        self._residuals = [*self._before(version)[-1:], (version, values)]

    def _before(self, version: int) -> list[tuple[int, Vector]]:
        return [residual for residual in self._residuals if residual[0] < version]


def _chosen_blocks(parameters: int, share: float) -> int:
    return math.ceil(share * block_count(parameters))


def _whole(values: Vector) -> Vector:
    """Returns a view of the whole blocks of `values`, as rows."""
    return values[: BLOCK * block_count(len(values))].reshape(-1, BLOCK)
