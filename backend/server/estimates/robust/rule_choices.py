"""Lists the robust rules, or masked groups, of a draft's rounds, with what each bears and costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import msgspec

from backend.formats.task_file.reading.dotted_keys import value_at
from backend.formats.task_file.robust import RobustTable
from backend.formats.task_file.security import MaskingTable
from backend.numerics.aggregators.group_tolerance import trade_off
from backend.server.estimates.protection_choices import (
    Check,
    Option,
    Tables,
    make_option,
    noise_of,
    raise_clients,
    updates_of,
)
from backend.server.estimates.robust.group_choices import (
    GROUP_RULE,
    GroupChoice,
    group_choices,
    least_clients,
)
from backend.server.estimates.robust.measured_rules import MEAN, MEASURED_MEAN, RULES, MeasuredRule
from backend.server.estimates.robust.proposed_rule import (
    ATTACKED_SHARE,
    expected_attackers,
    proposed_rule,
)
from backend.translation import gettext

PART = "robust"
# The key of a rule that only the task file has.
OWN = "own"
_DEADLINE = 60.0
# Of a round, in processor seconds; less is not told.
_LEAST_COST = 0.01


@dataclass(frozen=True)
class _Choice:
    """An alternative before it is checked: its sentences, and how it changes the tables."""

    key: str
    title: str
    text: str
    make: Callable[[Tables], None]


def robust_choices(
    tables: Mapping[str, Any],
    clients: int,
    parameters: int | None,
    check: Check,
    mend: Callable[[Tables], None],
) -> dict[str, Any] | None:
    """Returns the choices in rounds of `clients` (docs/reference/drafts.md#protection).

    None for a scheme whose server aggregates no rounds. `check` and `mend` as `protection_choices.options`.
    """
    if value_at(tables, "coordination.scheme") not in (None, "federated"):
        return None
    updates, deadline = updates_of(tables), value_at(tables, "coordination.deadline")
    seconds = float(deadline) if isinstance(deadline, int | float) else _DEADLINE
    proposed = proposed_rule(clients, parameters, seconds) if updates == "open" else None
    current = _current(tables)
    choices = list(_choices(tables, current, updates, clients, parameters))
    unread = current is None and value_at(tables, "security.robust") is not None
    chosen = OWN if unread else _key_of(current)
    if all(choice.key != chosen for choice in choices):
        choices.append(_own(tables, current, clients))
        chosen = OWN
    made = [
        (one, make_option(tables, PART, one.key, one.key == chosen, one.make, check, mend)) for one in choices
    ]
    return {
        "clients": clients,
        "proposed": proposed.key if proposed else None,
        "reason": None if proposed else _reason(updates, clients),
        "options": [_json(choice, option) for choice, option in made],
    }


def _choices(
    tables: Mapping[str, Any],
    current: RobustTable | None,
    updates: str,
    clients: int,
    parameters: int | None,
) -> Iterator[_Choice]:
    if updates == "open":
        yield _Choice(MEAN, gettext(MEASURED_MEAN.title), gettext(MEASURED_MEAN.text), _no_rule)
        for rule in RULES:
            chosen = current is not None and _key_of(current) == rule.key
            attackers = current.attackers if current and chosen else max(1, expected_attackers(clients))
            if chosen or rule.least(attackers) <= clients:
                text = _rule_text(rule, attackers, clients, parameters)
                yield _Choice(rule.key, gettext(rule.title), text, partial(_take_rule, rule, attackers))
        return
    text = gettext(
        "An update is hidden among all participants of a round. One that lies can spoil the sum, and nobody "
        "can tell which."
    )
    yield _Choice(MEAN, gettext("One sum of all"), text, _no_rule)
    if updates == "masked":
        for groups in group_choices(clients):
            key = _group_key(groups.found.groups, groups.attackers)
            if key == _key_of(current):
                groups = replace(groups, hidden=_least_hidden(tables))
            text = groups.text(noise_of(tables) != "none")
            yield _Choice(key, groups.title, text, partial(_take_groups, groups))


def _reason(updates: str, clients: int) -> str:
    """Returns why no rule is proposed."""
    if updates == "either":
        return gettext(
            "Some updates are masked and some are not, so that no rule can compare them all. Choose one way."
        )
    if updates == "masked" and clients < least_clients():
        return gettext(
            "Masks hide single updates, so that a rule could only compare the sums of groups. That needs "
            "%(least)s participants in a round, and %(clients)s are expected."
        ) % {"least": least_clients(), "clients": clients}
    if updates == "masked":
        return gettext(
            "Masks hide single updates, so that a rule can only compare the sums of groups. Smaller groups "
            "hide an update less and bear more lies: that is for you to choose."
        )
    if clients < ATTACKED_SHARE:
        return gettext(
            "No rule is proposed for %(clients)s participants in a round, but from %(least)s on: then one of "
            "%(least)s may lie."
        ) % {"clients": clients, "least": ATTACKED_SHARE}
    return gettext("No rule is proposed: each would take this server too long for rounds as short as these.")


def _rule_text(rule: MeasuredRule, attackers: int, clients: int, parameters: int | None) -> str:
    sentences = [gettext(rule.text), _bears(attackers, clients, rule.least(attackers))]
    if parameters is not None:
        sentences.append(_cost_words(rule.cost(clients, parameters), MEASURED_MEAN.cost(clients, parameters)))
    return " ".join(sentences)


def _bears(attackers: int, clients: int, least: int) -> str:
    return gettext(
        "%(attackers)s of %(clients)s participants may lie. A version needs at least %(least)s updates."
    ) % {"attackers": attackers, "clients": clients, "least": least}


def _cost_words(seconds: float, mean: float) -> str:
    if seconds < _LEAST_COST:
        return gettext("A round takes this server less than 0.01 s of processor time.")
    return gettext(
        "A round takes this server about %(seconds)s s of processor time; the mean takes %(mean)s s."
    ) % {"seconds": _seconds(seconds), "mean": _seconds(mean)}


def _seconds(value: float) -> str:
    return f"{value:.2g}" if value < 100 else f"{value:.0f}"


def _current(tables: Mapping[str, Any]) -> RobustTable | None:
    """Returns the rule in the tables; None without a valid one."""
    with suppress(msgspec.ValidationError):
        return msgspec.convert(value_at(tables, "security.robust"), RobustTable | None)
    return None


def _key_of(current: RobustTable | None) -> str:
    """Returns the key of the choice that has this rule, if there is one."""
    if current is None:
        return MEAN
    if current.groups is None:
        return current.words
    return _group_key(current.groups, current.attackers) if current.words == GROUP_RULE else OWN


def _group_key(groups: int, attackers: int) -> str:
    return f"groups-{groups}-{attackers}"


def _own(tables: Mapping[str, Any], current: RobustTable | None, clients: int) -> _Choice:
    """Returns the choice of the rule that the tables have already."""
    if current is None:
        return _Choice(OWN, gettext("As in the task file"), "", lambda _tables: None)
    title = gettext("As in the task file: %(rule)s") % {"rule": current.words}
    text = _bears(current.attackers, clients, current.least)
    if current.groups is not None and current.groups <= clients:
        found = trade_off(clients, current.groups, current.most_attackers)
        text = GroupChoice(current.attackers, _least_hidden(tables), found).text(noise_of(tables) != "none")
    return _Choice(OWN, title, text, lambda _tables: None)


def _least_hidden(tables: Mapping[str, Any]) -> int:
    hidden = value_at(tables, "security.masking.min_clients")
    return hidden if isinstance(hidden, int) else MaskingTable().min_clients


def _no_rule(new: Tables) -> None:
    if isinstance(security := new.get("security"), dict):
        security.pop("robust", None)


def _take_rule(rule: MeasuredRule, attackers: int, new: Tables) -> None:
    new.setdefault("security", {})["robust"] = rule.table(attackers)
    raise_clients(new.setdefault("coordination", {}), rule.least(attackers))


def _take_groups(groups: GroupChoice, new: Tables) -> None:
    security = new.setdefault("security", {})
    found = groups.found
    security["robust"] = {"rule": GROUP_RULE, "attackers": groups.attackers, "groups": found.groups}
    security.setdefault("masking", {})["min_clients"] = groups.hidden
    raise_clients(new.setdefault("coordination", {}), groups.needed)


def _json(choice: _Choice, option: Option) -> dict[str, Any]:
    fields = option.to_json() | {"title": choice.title, "text": choice.text}
    # The choice itself is no change to anything else.
    fields["changes"] = [one for one in fields["changes"] if one["key"] != "security.robust.rule"]
    return fields
