"""The rule that an owner tries on kept updates, and whether it fits their rounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta, Struct

from backend.errors import BadRequestError
from backend.formats.task_file.robust import RuleName, build_rule
from backend.numerics.aggregators.composition import Aggregator
from backend.stores.updates.kept_rounds import KeptRound

# Of an owner who has never stated how many to bear.
_USUAL_ATTACKERS = 1
_MOST_UPDATES = 10_000


class RuleChoice(Struct, frozen=True, forbid_unknown_fields=True):
    """A rule, with steps `before` it, that bears `attackers` false updates in each round.

    None is the task's own number, or 1, and no more than the rule bears of the smallest round.
    """

    rule: RuleName
    attackers: Annotated[int, Meta(ge=0, le=5000)] | None = None
    before: Annotated[tuple[Literal["nnm", "arc"], ...], Meta(max_length=2)] = ()

    @property
    def words(self) -> str:
        """The rule with the steps before it, such as `nnm + krum`."""
        return self.aggregator(0, 0).name

    @property
    def is_mean(self) -> bool:
        """Whether it is the mean that rounds without a rule take, weighted by examples."""
        return self.rule == "mean" and not self.before

    def aggregator(self, attackers: int, seed: int) -> Aggregator:
        """Returns the rule for so many false updates."""
        return build_rule(self.rule, self.before, attackers, seed)

    def attackers_for(self, rounds: Sequence[KeptRound], usual: int | None) -> int:
        """Returns how many false updates it is made for in all `rounds`; `usual` is the task's number.

        Raises BadRequestError, with the numbers, for a round that has too few updates for it.
        """
        if self.attackers is None:
            wanted = _USUAL_ATTACKERS if usual is None else usual
            borne = min(self._tolerance(len(round.updates)) + round.refused for round in rounds)
            return max(0, min(wanted, borne))
        for round in rounds:
            self._check(round, self.attackers)
        return self.attackers

    def _check(self, round: KeptRound, attackers: int) -> None:
        count, left = len(round.updates), max(0, attackers - round.refused)
        borne = self._tolerance(count)
        if left <= borne:
            return
        counts = range(count, _MOST_UPDATES)
        least = next((one for one in counts if self._tolerance(one) >= left), None)
        needs = "which it bears of no number of updates" if least is None else f"which takes {least} updates"
        raise BadRequestError(
            f"Round {round.round} has {count} kept updates, of which {self.words} bears {borne} false ones, "
            f"and attackers is {left}, {needs}. Lower attackers, or choose another rule."
        )

    def _tolerance(self, count: int) -> int:
        return max(0, self.aggregator(0, 0).tolerance(count))
