"""Rules by their names, such as `nnm+trimmed-mean`, made for the false updates of one round."""

from __future__ import annotations

from typing import Any

import msgspec

from backend.errors import SettingsError
from backend.formats.task_file import RobustTable
from backend.numerics.aggregators.composition import Aggregator, PreAggregator, chain
from backend.numerics.aggregators.table import AGGREGATORS, PRE_AGGREGATORS, SPECS

# The server's own weighted mean, without a rule.
PLAIN = "mean"
# Before a rule, or the plain mean: clients have a reputation, as with [security.reputation].
REPUTATION = "reputation+"
# Bucketing takes means of so many updates.
_BUCKET = 2


def rule_of(name: str, f: int, seed: int) -> Aggregator:
    """Returns the rule for `f` false updates: names of pre-aggregators and one aggregator, joined by `+`.

    `seed` is the round's. Raises SettingsError for other names.
    """
    before, last = _steps(name)
    values: dict[str, Any] = {"f": f, "seed": seed, "size": _BUCKET}

    def arguments(one: str) -> dict[str, Any]:
        return {argument: values[argument] for argument in SPECS[one].takes}

    steps: list[PreAggregator] = [PRE_AGGREGATORS[one](**arguments(one)) for one in before]
    return chain(*steps, AGGREGATORS[last](**arguments(last)))


def judged_table(name: str, attackers: int) -> RobustTable | None:
    """Returns the table [security.robust] beside a reputation, None for the server's mean.

    A chain that ends with the mean bears no attackers of its own. Raises SettingsError for other names.
    """
    if name == PLAIN:
        return None
    return robust_table(name, 0 if _steps(name)[1] == PLAIN else attackers)


def robust_table(name: str, attackers: int) -> RobustTable:
    """Returns the table [security.robust] of a rule, for so many attackers.

    Raises SettingsError for other names, and for a rule that bears so many of no number of updates.
    """
    before, last = _steps(name)
    steps = [{"name": one, "size": _BUCKET} if "size" in SPECS[one].takes else one for one in before]
    try:
        return msgspec.convert({"rule": last, "attackers": attackers, "before": steps}, RobustTable)
    except msgspec.ValidationError as error:
        raise SettingsError(f"The rule {name} cannot be used: {error}.") from error


def _steps(name: str) -> tuple[list[str], str]:
    """Returns the pre-aggregators and the aggregator of a rule. Raises SettingsError for other names."""
    *before, last = name.split("+")
    known = [one for one in PRE_AGGREGATORS if "limit" not in SPECS[one].takes]
    if last not in AGGREGATORS or any(one not in known for one in before):
        raise SettingsError(
            f"There is no rule {name}. Join any of {', '.join(known)}, and one of {', '.join(AGGREGATORS)} "
            "by +."
        )
    return before, last
