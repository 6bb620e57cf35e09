"""Lists the rules that the wizard offers, with the processor seconds that they were measured to take."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from backend.formats.task_file.robust import RobustTable, RuleName
from backend.translation import later

# What was measured: docs/reference/benchmarks.md#aggregation, one core, processor seconds.
_CLIENTS, _PARAMETERS = 16, 5_000_000
MEAN = "mean"


@dataclass(frozen=True)
class MeasuredRule:
    """A rule after steps `before`, with the `seconds` of 16 updates of 5 million parameters.

    Seconds grow as the number of updates to the power `growth`, between 16 and 64 of them.
    """

    rule: RuleName
    title: str
    text: str
    seconds: float
    growth: float
    before: tuple[Literal["distinct", "nnm"], ...] = ()

    @property
    def key(self) -> str:
        """Its name, such as `distinct + nnm + trimmed-mean`."""
        return " + ".join((*self.before, self.rule))

    def table(self, attackers: int) -> dict[str, Any]:
        """Returns the table [security.robust] with it."""
        steps = {"before": list(self.before)} if self.before else {}
        return {"rule": self.rule, "attackers": attackers} | steps

    def least(self, attackers: int) -> int:
        """Returns the least number of updates of which so many false ones are borne; 0 if none suffices."""
        return self._robust.least_for(attackers)

    def cost(self, updates: int, parameters: int) -> float:
        """Returns the processor seconds of a round of so many updates of `parameters` values each."""
        grown = math.pow(updates / _CLIENTS, self.growth)
        return self.seconds * grown * parameters / _PARAMETERS

    @cached_property
    def _robust(self) -> RobustTable:
        return RobustTable(self.rule, 1, self.before)


MEASURED_MEAN = MeasuredRule(
    "mean",
    later("Mean of all updates"),
    later("Each counts by its examples. One participant that lies can undo what all others learned."),
    0.046,
    0.67,
)
RULES = (
    MeasuredRule(
        "trimmed-mean",
        later("Trimmed mean of mixed neighbours"),
        later(
            "Counts copies once, mixes each update with similar ones, and leaves out the highest and lowest "
            "values."
        ),
        0.37,
        1.38,
        ("distinct", "nnm"),
    ),
    MeasuredRule(
        "trimmed-mean",
        later("Trimmed mean"),
        later("Leaves out the highest and lowest values of each parameter."),
        0.24,
        1.38,
    ),
    MeasuredRule("median", later("Median"), later("Takes the middle value of each parameter."), 0.21, 1.23),
    MeasuredRule(
        "multi-krum",
        later("Multi-Krum"),
        later("Leaves out whole updates that are far from the others, and averages the rest."),
        0.14,
        1.01,
    ),
    MeasuredRule(
        "dnc",
        later("Divide and conquer"),
        later(
            "Leaves out the updates that are farthest out where all differ most: against backdoors of "
            "attackers who act together."
        ),
        0.14,
        1.01,
    ),
    MeasuredRule(
        "geometric-median",
        later("Geometric median"),
        later("Leaves nobody out, and limits how far one update can pull the result."),
        0.14,
        1.01,
    ),
)
