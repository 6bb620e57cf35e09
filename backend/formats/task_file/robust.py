"""Defines the table [security.robust]: by which rule a round's updates become one, if not by their mean.

docs/reference/aggregators.md describes the rules; backend/numerics/aggregators/table.py has them all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta

from backend.formats.task_file.types import Positive, TaskTable
from backend.numerics.aggregators.composition import Aggregator, PreAggregator, chain
from backend.numerics.aggregators.table import AGGREGATORS, PRE_AGGREGATORS, SPECS

RuleName = Literal[
    "mean",
    "median",
    "trimmed-mean",
    "meamed",
    "krum",
    "multi-krum",
    "bulyan",
    "dnc",
    "mda",
    "geometric-median",
    "centered-clip",
    "norm-clip",
    "flame",
    "fools-gold",
]
# As many as a round has clients at most.
_MOST_UPDATES = 10_000


class BucketingStep(TaskTable, frozen=True, tag_field="name", tag="bucketing"):
    """Means of `size` updates each, in a secret random order."""

    size: Annotated[int, Meta(ge=2, le=100)]


class StaticClipStep(TaskTable, frozen=True, tag_field="name", tag="static-clip"):
    """Cuts each update to the L2 norm `limit`."""

    limit: Positive


# Pre-aggregators, those without settings of their own by their name alone.
StepBefore: TypeAlias = Literal["nnm", "arc", "distinct"] | BucketingStep | StaticClipStep


class RobustTable(TaskTable, frozen=True, dict=True):
    """Aggregates updates by `rule`, which bears `attackers` false updates in a round, after steps `before`.

    Up to `memory` MiB of a round's updates are kept in memory, the others in a file. With `groups`, updates
    are masked: a cohort is split into so many groups by lot, and the rule compares the means of groups.
    """

    rule: RuleName
    attackers: Annotated[int, Meta(ge=0, le=5000)]
    before: Annotated[tuple[StepBefore, ...], Meta(max_length=4)] = ()
    memory: Annotated[int, Meta(ge=1, le=4096)] = 512
    groups: Annotated[int, Meta(ge=2, le=500)] | None = None

    def __post_init__(self) -> None:
        if self.rule == "mean" and not self.before:
            raise ValueError(
                'rule = "mean" with nothing before it is what rounds do without the table; leave '
                "[security.robust] out, or take another rule"
            )
        if not self._least:
            raise ValueError(
                f"{self.words} bears {self.most_attackers(_MOST_UPDATES)} attackers at most, of any number "
                f"of updates, and attackers is {self.attackers}; lower it, or take another rule such as "
                '"trimmed-mean"'
            )
        if self.groups is not None:
            self._check_groups(self.groups)

    def _check_groups(self, groups: int) -> None:
        if not self.attackers:
            raise ValueError(
                "groups with attackers = 0 would only hide updates in smaller sums; state how many attackers "
                "to bear, or leave [security.robust] out"
            )
        if groups < self.least:
            raise ValueError(
                f"groups is {groups}, but {self.words} needs the means of at least {self.least} groups to "
                f"bear attackers = {self.attackers}, who may be in as many groups: of {groups} it bears "
                f"{self.most_attackers(groups)}. Raise groups to {self.least}, or lower attackers"
            )

    @property
    def words(self) -> str:
        """The rule with the steps before it, such as `nnm + krum`."""
        return self.aggregator(0).name

    @property
    def least(self) -> int:
        """The least number of updates, or of group means, of which `attackers` false ones are borne."""
        return self._least

    def least_for(self, attackers: int) -> int:
        """Returns the least number of updates of which so many false ones are borne; 0 if none suffices."""
        counts = range(max(1, attackers), _MOST_UPDATES + 1)
        return next((count for count in counts if self._tolerance(count) >= attackers), 0)

    def most_attackers(self, count: int) -> int:
        """Returns how many false ones of `count` updates are borne at most."""
        return max(0, self._tolerance(count))

    def aggregator(self, seed: int, refused: int = 0) -> Aggregator:
        """Returns the rule with the steps before it, for `attackers` of whom so many were `refused` already.

        They draw from `seed`: take a new secret each round.
        """
        return build_rule(self.rule, self.before, self.attackers - refused, seed)

    @cached_property
    def _least(self) -> int:
        return self.least_for(self.attackers)

    @cached_property
    def _tolerance(self) -> Callable[[int], int]:
        return self.aggregator(0).tolerance


def build_rule(rule: RuleName, before: Iterable[StepBefore], f: int, seed: int) -> Aggregator:
    """Returns the rule with the steps before it, for `f` false updates; they draw from `seed`."""
    given: dict[str, Any] = {"f": f, "seed": seed}
    steps: list[PreAggregator] = []
    for step in before:
        if isinstance(step, str):
            steps.append(PRE_AGGREGATORS[step](**_taken(step, given)))
        elif isinstance(step, BucketingStep):
            steps.append(PRE_AGGREGATORS["bucketing"](size=step.size, seed=seed))
        else:
            steps.append(PRE_AGGREGATORS["static-clip"](limit=step.limit))
    return chain(*steps, AGGREGATORS[rule](**_taken(rule, given)))


def _taken(name: str, given: dict[str, Any]) -> dict[str, Any]:
    """Returns those of the arguments that the factory `name` takes."""
    return {key: given[key] for key in SPECS[name].takes}
