"""Gives the tolerances of a comparison: measured distances of honest results, by the length of the work.

`tolerances.json` is written by `python -m benchmarks.units.tolerance --write`. Which kernels computed two
results does not matter: any difference in rounding grows with the steps.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from msgspec import Struct, json

from backend.numerics.aggregation.result_agreement import Tolerance

TABLE = Path(__file__).with_name("tolerances.json")
# Results at this distance or farther are wrong. Clients that did half of their steps were at 0.35 or farther.
# Of honest results of the rungs up to 24 steps none was at a quarter of BLAME.
BLAME = 0.3
# In longer work an honest result may be anywhere, but it is nearer than noise (1.4) or the opposite (2).
LONG_BLAME = 0.9
# The largest tolerance with which few steps can be left out, or values changed, without being noticed.
TELLING = 0.1


class Allowed(Struct, frozen=True, forbid_unknown_fields=True):
    """What may lie between honest results: measured distance and 1 - cosine (`turn`), with a margin."""

    distance: float
    turn: float


class Rung(Struct, frozen=True, forbid_unknown_fields=True):
    """What may lie between honest results of at most `steps` steps; those BLAME apart or more are wrong."""

    steps: int
    distance: float
    turn: float


class ToleranceTable(Struct, frozen=True, forbid_unknown_fields=True):
    """The rungs measured, the shortest first, and what is allowed in `longer` work."""

    rungs: list[Rung]
    longer: Allowed

    @property
    def steps(self) -> int:
        """Number of steps up to which wrong results can be told from honest ones."""
        return max(rung.steps for rung in self.rungs if rung.distance <= TELLING)


@cache
def table() -> ToleranceTable:
    """Reads the table of measured tolerances."""
    return json.decode(TABLE.read_bytes(), type=ToleranceTable)


def tolerance_of(steps: int = 0, given: float | None = None) -> Tolerance:
    """Returns the tolerance between two results of `steps` steps; `given` is the task file's distance."""
    if given is not None:
        # Vectors within this distance have no wider angle between them than this.
        return Tolerance(given, 1.0 - given * given, max(given, BLAME))
    for rung in table().rungs:
        if steps <= rung.steps:
            return Tolerance(rung.distance, 1.0 - rung.turn, BLAME)
    longer = table().longer
    return Tolerance(longer.distance, 1.0 - longer.turn, LONG_BLAME)
