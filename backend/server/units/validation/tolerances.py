"""Gives the tolerances of a comparison: measured distances of honest results, by pair of backends.

`tolerances.json` is written by `python -m benchmarks.units.tolerance --write`.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from msgspec import Struct, json

from backend.numerics.aggregation.result_agreement import Tolerance

TABLE = Path(__file__).with_name("tolerances.json")
# Results at this distance or farther are wrong. Clients that did half of 64 steps were at 0.38 or farther;
# no honest result was, in 64 or in 256 steps.
BLAME = 0.3


class BackendPair(Struct, frozen=True, forbid_unknown_fields=True):
    """The tolerance between two backends: measured distance and 1 - cosine (`turn`), with a margin."""

    backends: tuple[str, str]
    distance: float
    turn: float


class ToleranceTable(Struct, frozen=True, forbid_unknown_fields=True):
    """The pairs measured up to `steps`, the value for `other` pairs, and that for `longer` units.

    In longer units, rounding errors grow until honest results are far apart.
    """

    steps: int
    pairs: list[BackendPair]
    other: BackendPair
    longer: BackendPair


@cache
def table() -> ToleranceTable:
    """Reads the table of measured tolerances."""
    return json.decode(TABLE.read_bytes(), type=ToleranceTable)


def tolerance_of(first: str, second: str, steps: int = 0, given: float | None = None) -> Tolerance:
    """Returns the tolerance between two kinds of clients after `steps`.

    The last word of a kind is its backend. `given` is the distance that the task file sets.
    """
    if given is not None:
        # Vectors within this distance have no wider angle between them than this.
        return Tolerance(given, 1.0 - given * given, max(given, BLAME))
    backends = tuple(sorted((first.rpartition(" ")[2], second.rpartition(" ")[2])))
    measured = table()
    entry = next((pair for pair in measured.pairs if pair.backends == backends), measured.other)
    if steps > measured.steps:
        entry = measured.longer
    return Tolerance(entry.distance, 1.0 - entry.turn, BLAME)
