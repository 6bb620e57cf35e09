"""Life times of simulated machines that are preempted: drawn, or taken from a recorded trace."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import TypeAlias

from backend.errors import SettingsError

# Draws the seconds from a machine's start to its preemption.
DrawLife: TypeAlias = Callable[[Random], float]

HEADER = "seconds"


def exponential_lives(mean: float) -> DrawLife:
    """Returns lives of `mean` seconds on average, with the same risk at every moment."""
    return lambda random: random.expovariate(1.0 / mean)


def recorded_lives(seconds: Sequence[float]) -> DrawLife:
    """Returns lives drawn from recorded ones, each with the same probability."""
    return lambda random: random.choice(seconds)


def read_trace(path: Path) -> list[float]:
    """Reads recorded lives: one number of seconds a line, below a header `seconds` or without one.

    Raises SettingsError, which names the line.
    """
    try:
        rows = list(csv.reader(path.read_text("utf-8").splitlines()))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise SettingsError(f"The trace {path} cannot be read: {error}.") from error
    first = 1 if rows and [cell.strip() for cell in rows[0]] == [HEADER] else 0
    lives = [_life(path, number, row) for number, row in enumerate(rows[first:], first + 1)]
    if not lives:
        raise SettingsError(f"The trace {path} has no life times; write one number of seconds a line.")
    return lives


def _life(path: Path, number: int, row: list[str]) -> float:
    text = ",".join(row).strip()
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if math.isfinite(seconds) and seconds > 0.0:
        return seconds
    what = f"'{text[:40]}'" if text else "empty"
    raise SettingsError(
        f"{path}, line {number} is {what}; write the seconds of one life, a number above 0, or delete the "
        "line."
    )
