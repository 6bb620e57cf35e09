"""[security.robust] with groups: which sizes and tables go with masked groups, and why others do not."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from backend.errors import TaskFileError
from backend.formats.task_file import TaskFile, parse_task
from tests.support.tasks.tiny_task import task_toml

ROBUST = {"rule": "trimmed-mean", "attackers": 1, "groups": 5}


def grouped(
    robust: dict[str, Any] | None = None,
    masking: dict[str, Any] | None = None,
    security: dict[str, Any] | None = None,
    **tables: dict[str, Any],
) -> TaskFile:
    """A task of 40 clients in five groups of eight, with changes."""
    chosen = {"min_available_clients": 40, "quorum": 24} | tables.pop("coordination", {})
    task = tomllib.loads(task_toml("tiny", chosen))
    task["security"] |= {"aggregation": ["masked"]} | (security or {})
    task["security"] |= {"robust": ROBUST | (robust or {}), "masking": {"min_clients": 8} | (masking or {})}
    for name, changes in tables.items():
        task[name] = task.get(name, {}) | changes
    return parse_task(task, "here")


def test_groups_as_large_as_an_update_is_to_be_hidden_among_are_accepted() -> None:
    file = grouped()
    assert file.security.groups == 5
    assert grouped({"groups": 3}, {"min_clients": 13}, coordination={"quorum": 39}).security.groups == 3


def test_without_groups_a_cohort_is_one() -> None:
    assert parse_task(tomllib.loads(task_toml("tiny", {})), "here").security.groups == 1


def test_noise_that_clients_add_goes_into_the_sum_of_each_group() -> None:
    noise = {"mechanism": "distributed", "clip": 1.0, "noise_multiplier": 1.0}
    assert grouped(privacy=noise).privacy is not None


@pytest.mark.parametrize(
    ("robust", "masking", "others", "sentence"),
    [
        ({"attackers": 3}, {}, {}, "groups is 5, but trimmed-mean needs .* 7 groups .* of 5 it bears 2"),
        ({"attackers": 0}, {}, {}, "groups with attackers = 0"),
        ({"groups": 1}, {}, {}, ">= 2"),
        ({"rule": "krum", "groups": 4}, {}, {}, "groups is 4, but krum needs .* 5 groups"),
        ({"groups": 6}, {}, {}, "min_available_clients is 40, .* 6 groups .* 6 clients.* Raise it to 48"),
        ({}, {"min_clients": 9}, {}, "5 groups .* would have 8 clients, .* at least 9 .* Raise it to 45"),
        ({}, {}, {"coordination": {"quorum": 23}}, "quorum is 23, .* 24 updates together. Raise it to 24"),
        (
            {},
            {},
            {"coordination": {"fraction_train": 0.5, "min_train_clients": 30}},
            "min_train_clients is 30, so that 5 groups",
        ),
        ({}, {"share": 0.5}, {}, "share cannot be combined with security.robust.groups: each group sends"),
        ({}, {"server": "active", "min_clients": 60}, {}, "are 300; a masked round has 256 at most"),
        (
            {},
            {},
            {"security": {"aggregation": ["masked", "open"]}},
            'needs security.aggregation = ."masked".',
        ),
        (
            {},
            {},
            {"privacy": {"mechanism": "local", "clip": 1.0, "noise_multiplier": 1.0}},
            'Take mechanism = "distributed"',
        ),
        ({"groups": None}, {}, {}, "Set security.robust.groups to compare the sums of groups"),
        ({}, {}, {"training": {"control_variates": True}}, "control_variates cannot be combined"),
    ],
)
def test_what_cannot_hold_is_refused_with_the_numbers(
    robust: dict[str, Any], masking: dict[str, Any], others: dict[str, Any], sentence: str
) -> None:
    chosen = {key: value for key, value in (ROBUST | robust).items() if value is not None}
    with pytest.raises(TaskFileError, match=sentence):
        grouped(chosen if len(chosen) == 3 else {"groups": None}, masking, **others)


def test_open_updates_are_compared_one_by_one() -> None:
    task = tomllib.loads(task_toml("tiny", {"min_available_clients": 40, "quorum": 24}))
    task["security"]["robust"] = ROBUST
    with pytest.raises(TaskFileError, match="single updates are compared without groups"):
        parse_task(task, "here")
