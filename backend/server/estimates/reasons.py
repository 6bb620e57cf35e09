"""Provides what proposals for rounds and for work units have in common."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from backend.formats.manifest import Manifest
from backend.server.tasks.formatting import number
from backend.server.tasks.model_inspection import StepTime, fastest
from backend.translation import gettext, ngettext

# Steps that justify an update's traffic; epochs beyond which clients drift apart.
ENOUGH_STEPS, MAX_EPOCHS = 20, 5
# Steps that a device takes in a row, over all rounds, before a model has learned what few examples teach.
LEARNING_STEPS = 800
# Total visits to each example, by the maximum number of examples.
_VISITS = ((5_000, 20), (50_000, 10), (math.inf, 3))


@dataclass(frozen=True)
class Proposal:
    """A value for a key such as `training.epochs` (None: leave it out), and the reason in a sentence."""

    key: str
    value: int | float | None
    reason: str


def slow_step(times: Sequence[StepTime]) -> float | None:
    """Returns the seconds of a step on the slowest device class that can train; None if none can."""
    best = fastest(list(times))
    for device in ("phone", "laptop", "gpu"):
        if (time := best.get(device)) is not None and time.range_ms is not None:
            return time.range_ms[1] / 1000.0
    return None


def goal_visits(examples: int) -> int:
    """Returns how often each of `examples` should be visited in total."""
    return next(visits for maximum, visits in _VISITS if examples <= maximum)


def rate(manifest: Manifest) -> Proposal:
    """Proposes the model's own learning rate."""
    chosen = manifest.optimizer
    return Proposal(
        "training.learning_rate",
        None,
        gettext("The model's own: %(name)s with %(rate)s. Where the loss jumps, try half of it.")
        % {"name": chosen.name, "rate": f"{chosen.learning_rate:g}"},
    )


def round_up(value: int) -> int:
    """Rounds up to two significant digits."""
    unit: int = 10 ** max(0, len(str(value)) - 2)
    return -(-value // unit) * unit


def round_seconds(value: float) -> float:
    """Rounds up to a multiple of 5, 30 or 300 seconds, by size."""
    unit = 5 if value <= 60 else 30 if value <= 600 else 300
    return float(unit * math.ceil(value / unit))


def duration(seconds: float) -> str:
    """Formats seconds for sentences: `12 s`, `3 minutes`."""
    if seconds < 100:
        return f"{seconds:.2g} s"
    return gettext("%(count)s minutes") % {"count": f"{seconds / 60:.0f}"}


def people(count: int) -> str:
    """Formats a number of participants for sentences: `2 participants`."""
    return _counted(count, ngettext("%(count)s participant", "%(count)s participants", count))


def steps_in_words(count: int) -> str:
    """Formats a number of steps for sentences: `1 step`, `2 000 steps`."""
    return _counted(count, ngettext("%(count)s step", "%(count)s steps", count))


def examples_in_words(count: int) -> str:
    """Formats a number of examples for sentences: `1 example`, `2 000 examples`."""
    return _counted(count, ngettext("%(count)s example", "%(count)s examples", count))


def device_in_words(device: str) -> str:
    """Names a slow device of a class, at the start of a sentence."""
    return {"phone": gettext("A slow phone"), "laptop": gettext("A slow laptop")}.get(
        device, gettext("A slow computer")
    )


def _counted(count: int, sentence: str) -> str:
    return sentence % {"count": number(count)}
