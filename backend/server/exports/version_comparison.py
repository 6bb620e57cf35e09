"""How far apart two versions are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from backend.formats.manifest import Variable


@dataclass(frozen=True)
class Distance:
    """Of one variable, or of all: the norm of its change, and that over the norm of what it was before.

    `relative` is None where it was all zeros.
    """

    name: str
    parameters: int
    distance: float
    relative: float | None


def distances(before: Path, after: Path, layout: Sequence[Variable]) -> tuple[Distance, list[Distance]]:
    """Of all trained values together, and of each variable, of two flat vectors in files. Blocks."""
    first, second = (np.memmap(path, "<f4", "r") for path in (before, after))
    squares: list[tuple[Variable, float, float]] = []
    for one in layout:
        part = slice(one.offset, one.offset + math.prod(one.shape))
        old = first[part].astype(np.float64)
        change = second[part] - old
        squares.append((one, float(change @ change), float(old @ old)))
    trained = [(change, old) for one, change, old in squares if one.trainable]
    count = sum(math.prod(one.shape) for one in layout if one.trainable)
    whole = _distance("", count, sum(c for c, _ in trained), sum(o for _, o in trained))
    return whole, [_distance(one.name, math.prod(one.shape), c, o) for one, c, o in squares]


def _distance(name: str, parameters: int, change: float, before: float) -> Distance:
    relative = math.sqrt(change / before) if before else None
    return Distance(name, parameters, math.sqrt(change), relative)
