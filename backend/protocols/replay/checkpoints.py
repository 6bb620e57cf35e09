"""Checkpoints of a work unit: hashes of its weights after some steps, told with its result.

Two results that differ tell by them between which steps their trainings parted.
webapp/static/src/core/numerics/checkpoints.ts chooses the same steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from backend.wire.unit_messages import MOST_CHECKPOINTS


@dataclass(frozen=True)
class Parting:
    """Two trainings agree `after` this step, 0 for their start, and differ `by` that one.

    `by` is None if all checkpoints agree: the sent update is not the trained one.
    """

    after: int
    by: int | None


def checkpoint_steps(steps: int) -> list[int]:
    """Returns the numbers of the steps, spread evenly, the last one among them; all steps of a short unit."""
    count = min(steps, MOST_CHECKPOINTS)
    return [-(-(number * steps) // count) for number in range(1, count + 1)]


def parting(steps: int, one: Sequence[str], other: Sequence[str]) -> Parting | None:
    """Returns where two trainings of a unit of `steps` part; None without checkpoints of both.

    `one` and `other` are SHA-256 of the weights after `checkpoint_steps(steps)`, perhaps the first of them.
    """
    after = 0
    for step, mine, theirs in zip(checkpoint_steps(steps), one, other, strict=False):
        if mine != theirs:
            return Parting(after, step)
        after = step
    return Parting(after, None) if after else None
