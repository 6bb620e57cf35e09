"""How few updates a version may consist of: no round by any rule has fewer, and volunteers read it."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest

from backend.formats.task_file.robust import RobustTable
from backend.numerics.vectors import Vector64
from backend.server.disclosure.round_sizes import fewest_updates
from tests.unit.server.disclosure.test_rounds import OWN, disclose, task, text

QUORUM, SIZE = 7, 400
BUCKETS = {"name": "bucketing", "size": 2}
RULES: list[tuple[str, int, list[Any], int]] = [
    ("mean", 0, [{"name": "static-clip", "limit": 40.0}], 7),
    ("median", 2, [], 5),
    ("trimmed-mean", 2, ["nnm"], 5),
    ("geometric-median", 2, [], 5),
    ("krum", 2, [], 1),
    ("krum", 2, ["distinct"], 1),
    ("krum", 2, ["arc"], 1),
    ("krum", 2, ["nnm"], 5),
    ("krum", 0, [BUCKETS], 1),
    ("multi-krum", 2, [], 5),
    ("dnc", 1, [BUCKETS], 3),
    ("mda", 2, [], 5),
    ("dnc", 2, [], 5),
    ("dnc", 3, ["nnm"], 4),
    ("flame", 2, [], 3),
    ("fools-gold", 0, [], 1),
]


def robust(rule: str, attackers: int, before: list[Any]) -> dict[str, Any]:
    return {"rule": rule, "attackers": attackers, "before": before}


def counted(table: RobustTable, updates: Vector64) -> int:
    """How many of the updates change the aggregate if they change a little."""
    random = np.random.default_rng(1)
    aggregate = table.aggregator(seed=3)
    made, changed = aggregate(updates), 0
    for number in range(len(updates)):
        other = updates.copy()
        other[number] += 1e-7 * random.standard_normal(SIZE)
        changed += not np.array_equal(aggregate(other), made)
    return changed


@pytest.mark.parametrize(("rule", "attackers", "before", "fewest"), RULES)
def test_no_round_has_fewer_updates_than_are_told(
    rule: str, attackers: int, before: list[Any], fewest: int
) -> None:
    """Liars send updates that are far away, or that the server refuses."""
    said = robust(rule, attackers, before)
    file = task(
        OWN, ["open"], coordination={"min_available_clients": 9, "quorum": QUORUM}, security={"robust": said}
    )
    assert fewest_updates(file) == fewest
    table = msgspec.convert(said, RobustTable)
    random = np.random.default_rng(2)
    found = []
    for refused in range(attackers + 1):
        updates = random.standard_normal((QUORUM - refused, SIZE)) + 1.0
        updates[: attackers - refused] = 30.0 * random.standard_normal((attackers - refused, SIZE))
        left = msgspec.structs.replace(table, attackers=attackers - refused)
        if len(updates) >= left.least_for(left.attackers):
            found.append(counted(left, updates))
    assert fewest <= min(found)


def test_the_fewest_updates_without_a_rule_are_the_quorum_or_the_masked() -> None:
    more = {"min_available_clients": 9, "quorum": 7}
    assert fewest_updates(task(OWN, ["open"], coordination=more)) == 7
    assert fewest_updates(task(OWN, ["masked"])) == 5
    assert fewest_updates(task(OWN, ["masked", "open"], coordination=more)) == 7


@pytest.mark.parametrize(("rule", "groups"), [("median", 4), ("multi-krum", 4), ("krum", 1)])
def test_a_version_of_masked_groups_is_of_those_that_the_rule_keeps(rule: str, groups: int) -> None:
    many = {"min_available_clients": 25, "quorum": 25}
    said = {"aggregation": ["masked"], "robust": robust(rule, 1, []) | {"groups": 5}}
    assert fewest_updates(task(OWN, ["masked"], coordination=many, security=said)) == 5 * groups


def test_with_reputation_all_others_may_be_in_quarantine_and_volunteers_read_so() -> None:
    file = task(OWN, ["open"], security={"reputation": {}})
    assert fewest_updates(file) == 1
    assert "may consist of one update" in text(disclose(file).participants)


@pytest.mark.parametrize(("rule", "told"), [("krum", "one update"), ("dnc", "two updates")])
def test_volunteers_read_how_few_updates_a_rule_may_leave(rule: str, told: str) -> None:
    quorum = 5 if rule == "krum" else 3
    few = {"min_available_clients": 5, "quorum": quorum}
    file = task(OWN, ["open"], coordination=few, security={"robust": robust(rule, 1, [])})
    assert f"may consist of {told}" in text(disclose(file).participants)
