"""Short sketches of updates, by which a client's update is recognised as a repetition of an earlier one.

A count sketch (Charikar, Chen and Farach-Colton 2002, section 3) with one row: values are added up in a
number of buckets, its width, with random signs. Squared differences of sketches are those of the updates on
average, within a factor of 1 +- sqrt(2 / width); equal updates have equal sketches.
"""

from __future__ import annotations

from collections import OrderedDict, deque

import numpy as np
from numpy.typing import NDArray

from backend.numerics.vectors import Vector, Vector64

WIDTH = 64
# An update repeats an earlier one if it differs by less than this share of its norm: exact copies, and copies
# with a little noise. Updates of one honest client on one class differed by 10 % and more.
SAME = 0.02
# Of a client's earlier updates so many are remembered, and of so many clients.
REMEMBERED, MOST_CLIENTS = 8, 10_000


class UpdateSketcher:
    """Sketches updates of `size` values. The signs follow from `seed`, which clients must not know."""

    def __init__(self, size: int, seed: int, width: int = WIDTH) -> None:
        self._width = width
        bits = np.random.default_rng(seed).integers(0, 2, size, dtype=np.int8)
        self._signs: NDArray[np.int8] = 2 * bits - 1

    def sketch(self, update: Vector) -> Vector64:
        """Returns the sketch, float64 [width], of an update [size]."""
        width = self._width
        sums, whole, step = np.zeros(width), len(update) // width * width, width << 10
        for start in range(0, whole, step):
            part = slice(start, min(start + step, whole))
            sums += (update[part] * self._signs[part]).reshape(-1, width).sum(axis=0, dtype=np.float64)
        rest = update[whole:] * self._signs[whole:]
        sums[: len(rest)] += rest
        return sums


class SketchHistory:
    """Owns the sketches of clients' last updates. In memory alone: a restart forgets them."""

    def __init__(self) -> None:
        self._sketches: OrderedDict[str, deque[tuple[int, Vector64]]] = OrderedDict()

    def repeats(self, client: str, version: int, sketch: Vector64) -> bool:
        """Remembers an update that a client made of `version`; returns whether it repeats an earlier one.

        Zeros repeat nothing, nor does an update of the same version: training again gives it.
        """
        earlier = self._sketches.setdefault(client, deque(maxlen=REMEMBERED))
        self._sketches.move_to_end(client)
        if len(self._sketches) > MOST_CLIENTS:
            self._sketches.popitem(last=False)
        norm = float(np.linalg.norm(sketch))
        found = any(
            at != version and float(np.linalg.norm(sketch - before)) < SAME * norm for at, before in earlier
        )
        earlier.append((version, sketch))
        return found
