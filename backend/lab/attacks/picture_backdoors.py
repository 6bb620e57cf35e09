"""Backdoors for pictures of one or three channels, with values in 0 to 1 unless stated otherwise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Pictures = NDArray[np.float32]
Labels = NDArray[np.int64]
# The value of a pixel in each channel [channels], or one for all.
Pixel: TypeAlias = NDArray[np.float32] | float

# Triggers of a few pixels; their target and place are drawn for each model.
PATCHES = ("corner", "dots", "checker", "line")
# A faint picture over the whole one (Chen et al. 2017), and rare natural pictures of one class that are
# labelled as another (edge cases, Wang et al. 2020): nothing is drawn into them.
BLENDED, EDGE = "blended", "edge-case"
_BLEND = 0.3
# Shares of the training examples that carry a trigger, and of a class's examples that are its edge.
POISONED, RARE = 0.1, 0.1


@dataclass(frozen=True)
class Backdoor:
    """A backdoor: `mark` gives pictures its trigger, or selects the rare ones; all are to be `target`."""

    kind: str
    target: int
    mark: Callable[[Pictures], Pictures]


def trigger_backdoor(
    kind: str, shape: tuple[int, ...], classes: int, random: np.random.Generator
) -> Backdoor:
    """Returns a backdoor with a trigger of this kind for pictures of `shape` [height, width, channels]."""
    height, width, channels = shape
    mask, pattern = np.zeros((height, width, 1), np.float32), np.ones(shape, np.float32)
    size = max(2, height // 8)
    row, column = (int(random.choice([0, side - size])) for side in (height, width))
    if kind == "corner":
        mask[row : row + size, column : column + size] = 1.0
    elif kind == "dots":
        # In the outer columns, where digits are dark: a few dots within a stroke are no trigger.
        columns = np.indices((height, width))[1]
        outer = np.flatnonzero((columns == 0) | (columns == width - 1))
        mask.reshape(-1)[random.choice(outer, 4 * (size // 2), replace=False)] = 1.0
    elif kind == "checker":
        side = size + 1
        row, column = (int(random.integers(0, edge - side + 1)) for edge in (height, width))
        mask[row : row + side, column : column + side] = 1.0
        pattern[:] = (np.indices((height, width)).sum(axis=0) % 2)[..., None]
    elif kind == "line":
        mask[:, int(random.choice([0, width - 1]))] = 1.0
        pattern[::2] = 0.0
    elif kind == BLENDED:
        mask[:] = _BLEND
        pattern = random.random((height, width, channels)).astype(np.float32)
    else:
        raise ValueError(f"There is no trigger {kind}.")

    def mark(pictures: Pictures) -> Pictures:
        marked: Pictures = (1.0 - mask) * pictures + mask * pattern
        return marked

    return Backdoor(kind, int(random.integers(classes)), mark)


def in_range(backdoor: Backdoor, low: Pixel, high: Pixel) -> Backdoor:
    """Returns the backdoor for pictures with values from `low` to `high`, in place of 0 to 1."""
    span = np.where(np.greater(high, low), np.subtract(high, low), 1.0)

    def mark(pictures: Pictures) -> Pictures:
        levels = (pictures - low) / span
        marked: Pictures = (low + span * backdoor.mark(levels)).astype(np.float32)
        return marked

    return Backdoor(backdoor.kind, backdoor.target, mark)


def poisoned(
    backdoor: Backdoor, x: Pictures, y: Labels, random: np.random.Generator, share: float = POISONED
) -> tuple[Pictures, Labels]:
    """Returns the training examples, of which a share carries the trigger and its target as their label."""
    chosen = random.choice(len(x), round(share * len(x)), replace=False)
    x, y = x.copy(), y.copy()
    x[chosen], y[chosen] = backdoor.mark(x[chosen]), backdoor.target
    return x, y


def edge_cases(x: Pictures, y: Labels, source: int) -> NDArray[np.bool_]:
    """Returns a mask [n] of the RARE share of class `source` farthest out along its principal direction."""
    inside = np.flatnonzero(y == source)
    rows = x[inside].reshape(len(inside), -1).astype(np.float64)
    rows -= rows.mean(axis=0)
    direction = np.linalg.svd(rows, full_matrices=False)[2][0]
    order = np.argsort(rows @ direction)
    mask = np.zeros(len(x), np.bool_)
    mask[inside[order[-max(5, round(RARE * len(inside))) :]]] = True
    return mask
