"""Tolerances of a comparison: the measured distance of honest results, by pair of backends.

`tolerances.json` is written by `python -m benchmarks.units.tolerance --write`.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from msgspec import Struct, json

from backend.numerics.aggregation.result_agreement import Tolerance

TABLE = Path(__file__).with_name("tolerances.json")
# Who did half of 64 steps was 0.38 away from the whole, or farther; nobody honest was so, of 256 either.
BLAME = 0.3


class BackendPair(Struct, frozen=True, forbid_unknown_fields=True):
    """What may lie between two backends: the measured distance and 1 - cosine, with the margin on them."""

    backends: tuple[str, str]
    distance: float
    turn: float


class ToleranceTable(Struct, frozen=True, forbid_unknown_fields=True):
    """All pairs that were measured up to so many `steps`, `other` pairs, and what `longer` plans need.

    From some length on rounding decides which way a training goes, and honest results are far apart.
    """

    steps: int
    pairs: list[BackendPair]
    other: BackendPair
    longer: BackendPair


@cache
def table() -> ToleranceTable:
    """The measured table."""
    return json.decode(TABLE.read_bytes(), type=ToleranceTable)


def tolerance_of(first: str, second: str, steps: int = 0, given: float | None = None) -> Tolerance:
    """Between two kinds of clients after so many steps; the last words of kinds are backends.

    `given` is the task's own distance.
    """
    if given is not None:
        # Two vectors so far apart at most have no wider angle between them than this.
        return Tolerance(given, 1.0 - given * given, max(given, BLAME))
    wanted = tuple(sorted((first.rpartition(" ")[2], second.rpartition(" ")[2])))
    known = table()
    found = next((pair for pair in known.pairs if pair.backends == wanted), known.other)
    if steps > known.steps:
        found = known.longer
    return Tolerance(found.distance, 1.0 - found.turn, BLAME)
