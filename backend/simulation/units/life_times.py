"""Life times of simulated machines that are preempted: drawn, or taken from a recorded trace."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any, TypeAlias

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
    """Reads recorded lives in seconds, from a list in a `.json` file or from the lines of a CSV file.

    The lines may be below a header `seconds`. Raises SettingsError, which names the line or the item.
    """
    try:
        text = path.read_text("utf-8")
        lives = _of_json(path, text) if path.suffix.lower() == ".json" else _of_lines(path, text)
    except (OSError, UnicodeDecodeError, csv.Error, json.JSONDecodeError, RecursionError) as error:
        raise SettingsError(f"The trace {path} cannot be read: {error}.") from error
    if not lives:
        raise SettingsError(f"The trace {path} has no life times; write one number of seconds a line.")
    return lives


def _of_lines(path: Path, text: str) -> list[float]:
    rows = list(csv.reader(text.splitlines()))
    first = 1 if rows and [cell.strip() for cell in rows[0]] == [HEADER] else 0
    return [_life(path, number, row) for number, row in enumerate(rows[first:], first + 1)]


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


def _of_json(path: Path, text: str) -> list[float]:
    # The digits of a number are no limit: too many are infinity.
    items: Any = json.loads(text, parse_int=float)
    if not isinstance(items, list):
        raise SettingsError(f"The trace {path} is no list; write the seconds of all lives as [1800, 640.5].")
    for number, item in enumerate(items, 1):
        if not isinstance(item, float) or not 0.0 < item < math.inf:
            raise SettingsError(
                f"{path}, item {number} is {json.dumps(item)[:40]}; write the seconds of one life, a number "
                "above 0, or delete the item."
            )
    return items
