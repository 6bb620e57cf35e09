"""[security.robust]: its names are those of the library, and its numbers fit the rounds."""

from __future__ import annotations

import tomllib
from typing import Any, get_args

import pytest

from backend.errors import TaskFileError
from backend.formats.task_file import RobustTable, TaskFile, parse_task
from backend.formats.task_file.robust import RuleName, StepBefore
from backend.numerics.aggregators.table import AGGREGATORS, PRE_AGGREGATORS, SPECS
from tests.support.tasks.tiny_task import task_toml, volunteer_toml


def robust(clients: int, table: dict[str, Any], **tables: dict[str, Any]) -> TaskFile:
    """A task whose rounds need so many updates; `tables` add to its own."""
    task = tomllib.loads(task_toml("tiny", {"min_available_clients": clients, "quorum": clients}))
    task["security"]["robust"] = {"attackers": 1} | table
    for name, changes in tables.items():
        task[name] = task.get(name, {}) | changes
    return parse_task(task, "here")


def table(clients: int, **keys: Any) -> RobustTable:
    found = robust(clients, keys).security.robust
    assert found is not None
    return found


def test_all_rules_and_steps_of_the_library_can_be_named() -> None:
    assert set(get_args(RuleName)) == set(AGGREGATORS)
    words, *tagged = get_args(StepBefore)
    assert {*get_args(words), *(step.__struct_config__.tag for step in tagged)} == set(PRE_AGGREGATORS)


@pytest.mark.parametrize("rule", sorted(set(AGGREGATORS) - {"mean", "fools-gold"}))
def test_as_many_attackers_are_taken_as_the_rule_bears(rule: str) -> None:
    for attackers in (1, 2, 3):
        least = SPECS[rule].least(attackers)
        assert least is not None
        assert table(least, rule=rule, attackers=attackers).least == least
        with pytest.raises(TaskFileError, match=f"is {least - 1}, but {rule} needs at least {least} updates"):
            robust(least - 1, {"rule": rule, "attackers": attackers})


def test_steps_before_a_rule_are_named_or_have_settings() -> None:
    found = table(9, rule="median", attackers=2, before=["nnm", {"name": "bucketing", "size": 2}, "arc"])
    assert (found.words, found.least) == ("nnm + bucketing + arc + median", 9)
    assert found.most_attackers(8) == 1


def test_a_task_without_the_table_takes_the_mean() -> None:
    assert parse_task(tomllib.loads(task_toml("tiny", {})), "here").security.robust is None


@pytest.mark.parametrize(
    ("clients", "keys", "sentence"),
    [
        (4, {"rule": "trimmed-mean", "attackers": 2}, "needs at least 5 .* attackers = 2: of 4 it bears 1"),
        (8, {"rule": "median", "attackers": 2, "before": [{"name": "bucketing", "size": 2}]}, "least 9"),
        (60, {"rule": "mda", "attackers": 25}, "mda bears 24 attackers at most.*attackers is 25"),
        (9, {"rule": "fools-gold"}, "fools-gold bears 0 attackers at most"),
        (9, {"rule": "mean", "attackers": 0}, "leave .security.robust. out"),
        (9, {"rule": "kum"}, "kum"),
        (9, {"rule": "krum", "before": ["bucketing"]}, "bucketing"),
        (9, {"rule": "krum", "before": [{"name": "bucketing", "size": 1}]}, ">= 2"),
        (9, {"rule": "krum", "before": [{"name": "static-clip", "limit": 0.0}]}, "> 0"),
        (9, {"rule": "krum", "attackers": -1}, ">= 0"),
        (9, {"rule": "krum", "memory": 0}, ">= 1"),
        (9, {"rule": "krum", "f": 1}, "unknown field `f`"),
    ],
)
def test_what_cannot_hold_is_refused_with_the_numbers(
    clients: int, keys: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(TaskFileError, match=sentence):
        robust(clients, keys)


def test_a_quorum_with_too_few_updates_is_refused() -> None:
    with pytest.raises(TaskFileError, match=r"quorum is 1, but krum needs at least 5 .*Raise"):
        robust(5, {"rule": "krum"}, coordination={"quorum": 1})
    chosen = {"fraction_train": 0.5, "min_available_clients": 9, "min_train_clients": 4, "quorum": 3}
    with pytest.raises(TaskFileError, match="min_train_clients is 4, but krum needs at least 5"):
        robust(5, {"rule": "krum"}, coordination=chosen)


def test_a_rule_is_refused_where_the_server_sees_no_single_updates_or_counts_noise_on_a_mean() -> None:
    security = {"aggregation": ["open", "masked"], "robust": {"rule": "krum", "attackers": 1}}
    with pytest.raises(TaskFileError, match=r"security.robust cannot be combined .*masks leave only the sum"):
        robust(9, {}, security=security)
    for mechanism, why in (("central", "counted for a mean"), ("local", "longer than the differences")):
        privacy = {"mechanism": mechanism, "clip": 1.0, "noise_multiplier": 1.0}
        with pytest.raises(TaskFileError, match=why):
            robust(9, {"rule": "krum"}, privacy=privacy)
    with pytest.raises(TaskFileError, match=r"control_variates cannot be combined with .security.robust"):
        robust(9, {"rule": "krum"}, training={"control_variates": True})


def test_other_schemes_have_their_own_means_against_lies() -> None:
    keys = "[security.robust]\nrule = 'krum'\nattackers = 1\n"
    with pytest.raises(TaskFileError, match=r"coordination.units.trust"):
        parse_task(tomllib.loads(volunteer_toml("tiny") + keys), "here")
    mesh = task_toml("tiny", {"scheme": "decentralized"}).replace("max_update_norm = 50.0\n", "")
    with pytest.raises(TaskFileError, match=r"coordination.averaging.reducer"):
        parse_task(tomllib.loads(mesh + keys), "here")
