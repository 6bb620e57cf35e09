"""Makes the table of tolerances from the distances that benchmarks.units.tolerance measures."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

# The table allows MARGIN times the measured distance, within these bounds: half of the work is farther. One
# unit of a network that one side turns on and the other one off can make a difference of 0.03.
MARGIN, MIN_DISTANCE, MAX_DISTANCE = 4.0, 0.07, 0.25
# Lengths of work in steps that have a tolerance of their own: rounding errors grow with each step.
RUNGS = (16, 24, 32)


@dataclass(frozen=True)
class Gap:
    """The distance between the updates of two sides for one plan."""

    model: str
    start: int
    seed: int
    steps: int
    first: str
    second: str
    distance: float
    turn: float


@dataclass(frozen=True)
class Cheat:
    """The distances from the full work of half the steps, and of noise of the same length."""

    model: str
    start: int
    seed: int
    steps: int
    half: float
    noise: float


def tolerance_table(gaps: Sequence[Gap], before: dict[str, Any] | None = None) -> dict[str, Any]:
    """Returns the tolerance of each length of work for server/units/validation/tolerances.py.

    A run of work shorter than all of RUNGS adds its length. Lengths beyond the longest work that was measured
    stay as in the table `before`, if there is one.
    """
    longest = max(gap.steps for gap in gaps)
    kept = {rung["steps"]: rung for rung in before["rungs"]} if before else {}
    short = {longest} if longest < RUNGS[0] else set()
    rungs = [
        kept[length] if length > longest and length in kept else _rung(length, gaps)
        for length in sorted({*RUNGS, *kept, *short})
    ]
    longer = before["longer"] if before and longest <= RUNGS[-1] else _widest(gaps)
    return {"rungs": list(itertools.accumulate(rungs, _at_least)), "longer": longer}


def _at_least(shorter: dict[str, Any], rung: dict[str, Any]) -> dict[str, Any]:
    """Returns a rung that allows what shorter work does: a kept one may have been measured on fewer plans."""
    return rung | {name: max(shorter[name], rung[name]) for name in ("distance", "turn")}


def _rung(steps: int, gaps: Sequence[Gap]) -> dict[str, Any]:
    allowed = _widest([gap for gap in gaps if gap.steps <= steps])
    return {"steps": steps, **allowed}


def _widest(gaps: Sequence[Gap]) -> dict[str, float]:
    distance = min(MAX_DISTANCE, max(MIN_DISTANCE, MARGIN * max(gap.distance for gap in gaps)))
    turn = min(MAX_DISTANCE**2, max(MIN_DISTANCE**2, MARGIN**2 * max(gap.turn for gap in gaps)))
    return {"distance": float(f"{distance:.3g}"), "turn": float(f"{turn:.3g}")}


def summary(gaps: Sequence[Gap], cheats: Sequence[Cheat]) -> Iterator[str]:
    """Yields a line for each model and length: its widest gap, and its nearest cheat."""
    for (model, steps), group in itertools.groupby(sorted(gaps, key=_length), _length):
        widest = max(group, key=lambda gap: gap.distance)
        what = f"{model:12} {steps:3} steps, from {widest.start:3}"
        yield f"{what} {widest.first:17} {widest.second:17} {widest.distance:.1e} {widest.turn:.1e}"
    for (model, steps), cheating in itertools.groupby(sorted(cheats, key=_length), _length):
        nearest = min(cheating, key=lambda cheat: cheat.half)
        yield f"{model:12} {steps:3} steps: half of them {nearest.half:.2f}, noise {nearest.noise:.2f}"


def _length(measured: Gap | Cheat) -> tuple[str, int]:
    return measured.model, measured.steps
