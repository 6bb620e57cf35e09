"""Computes the distance between two versions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from backend.formats.manifest import Variable


@dataclass(frozen=True)
class Distance:
    """The L2 norm of the change of one variable, or of all; `relative` to the norm of the values before.

    `relative` is None if all values before were zero.
    """

    name: str
    parameters: int
    distance: float
    relative: float | None


def distances(before: Path, after: Path, layout: Sequence[Variable]) -> tuple[Distance, list[Distance]]:
    """Returns the distance of all trained values, and of each variable, of two flat vectors. Blocks."""
    first, second = (np.memmap(path, "<f4", "r") for path in (before, after))
    squares: list[tuple[Variable, float, float]] = []
    for variable in layout:
        part = slice(variable.offset, variable.offset + math.prod(variable.shape))
        old = first[part].astype(np.float64)
        change = second[part] - old
        squares.append((variable, float(change @ change), float(old @ old)))
    trained = [(change, old) for variable, change, old in squares if variable.trainable]
    count = sum(math.prod(variable.shape) for variable in layout if variable.trainable)
    whole = _distance("", count, sum(c for c, _ in trained), sum(o for _, o in trained))
    return whole, [_distance(variable.name, math.prod(variable.shape), c, o) for variable, c, o in squares]


def _distance(name: str, parameters: int, change: float, before: float) -> Distance:
    relative = math.sqrt(change / before) if before else None
    return Distance(name, parameters, math.sqrt(change), relative)
