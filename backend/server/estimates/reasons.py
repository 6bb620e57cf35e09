"""What proposals for rounds and for work units have in common."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from backend.formats.manifest import Manifest
from backend.server.tasks.model_inspection import StepTime, fastest

# With so many steps an update is worth its traffic; more visits than these have clients drift apart.
ENOUGH_STEPS, MOST_EPOCHS = 20, 5
# Visits to each example in all, by how many there are.
_VISITS = ((5_000, 20), (50_000, 10), (math.inf, 3))


@dataclass(frozen=True)
class Proposal:
    """A value for a key such as `training.epochs` (None: leave it out), and why, in a sentence."""

    key: str
    value: int | float | None
    reason: str


def slow_step(times: Sequence[StepTime]) -> float | None:
    """Seconds of a step on a slow phone, or on a slow laptop where phones cannot train."""
    best = fastest(list(times))
    for device in ("phone", "laptop", "gpu"):
        if (found := best.get(device)) is not None and found.range_ms is not None:
            return found.range_ms[1] / 1000.0
    return None


def goal_visits(examples: int) -> int:
    """How often each of so many examples should be seen in all."""
    return next(visits for most, visits in _VISITS if examples <= most)


def rate(manifest: Manifest) -> Proposal:
    """The learning rate that the model came with."""
    chosen = manifest.optimizer
    return Proposal(
        "training.learning_rate",
        None,
        f"The model's own: {chosen.name} with {chosen.learning_rate:g}. Where the loss jumps, try half of "
        "it.",
    )


def round_up(value: int) -> int:
    """The next number of two digits and zeros."""
    unit: int = 10 ** max(0, len(str(value)) - 2)
    return -(-value // unit) * unit


def round_seconds(value: float) -> float:
    """The next one that people would say."""
    unit = 5 if value <= 60 else 30 if value <= 600 else 300
    return float(unit * math.ceil(value / unit))


def duration(seconds: float) -> str:
    """For sentences."""
    return f"{seconds:.2g} s" if seconds < 100 else f"{seconds / 60:.0f} minutes"


def people(count: int) -> str:
    """For sentences."""
    return counted(count, "participant")


def counted(count: int, word: str) -> str:
    """For sentences: `1 step`, `2,000 steps`."""
    return f"{count:,} {word}{'' if count == 1 else 's'}"
