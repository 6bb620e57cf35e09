"""[security.reputation] and what it cannot be combined with."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from backend.errors import TaskFileError
from backend.formats.task_file import ReputationTable, TaskFile, parse_task
from tests.support.tasks.tiny_task import task_toml, volunteer_toml


def task(text: str | None = None, table: dict[str, Any] | None = None, **tables: dict[str, Any]) -> TaskFile:
    content = tomllib.loads(text or task_toml("tiny", {}))
    content.setdefault("security", {})["reputation"] = table or {}
    for name, changes in tables.items():
        content[name] = content.get(name, {}) | changes
    return parse_task(content, "here")


def test_it_is_off_without_its_table_and_complete_with_an_empty_one() -> None:
    assert parse_task(tomllib.loads(task_toml("tiny", {})), "here").security.reputation is None
    assert task().security.reputation == ReputationTable(10.0, 10)


def test_it_goes_with_a_robust_rule() -> None:
    robust = {"rule": "median", "attackers": 1}
    content = tomllib.loads(task_toml("tiny", {"min_available_clients": 3, "quorum": 3}))
    content["security"] |= {"reputation": {}, "robust": robust}
    assert parse_task(content, "here").security.reputation is not None


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ({"half_life": 1.0}, "half_life"),
        ({"quarantine": 0}, "quarantine"),
        ({"shared_networks": ["home"]}, "shared_networks has 'home', which is no network"),
        ({"limit": 3}, "limit"),
    ],
)
def test_what_makes_no_sense_is_refused(table: dict[str, Any], sentence: str) -> None:
    with pytest.raises(TaskFileError, match=sentence):
        task(table=table)


@pytest.mark.parametrize(
    ("tables", "sentence"),
    [
        (
            {"training": {"control_variates": True}},
            r"control_variates cannot be combined with \[security.rep",
        ),
        (
            {"privacy": {"mechanism": "central", "clip": 1.0, "noise_multiplier": 1.0}},
            r"cannot be combined with \[privacy\]",
        ),
    ],
)
def test_what_hides_or_keeps_single_updates_is_refused(tables: dict[str, Any], sentence: str) -> None:
    with pytest.raises(TaskFileError, match=sentence):
        task(**tables)


def test_masked_updates_are_refused_with_the_reason() -> None:
    content = tomllib.loads(task_toml("tiny", {"min_available_clients": 8, "quorum": 8}))
    content["security"] |= {"reputation": {}, "aggregation": ["masked"]}
    with pytest.raises(TaskFileError, match=r"shows no single client's updates\. Reputation compares single"):
        parse_task(content, "here")


def test_work_units_have_trust_instead() -> None:
    with pytest.raises(TaskFileError, match=r"coordination\.units\.trust"):
        task(volunteer_toml("tiny"))
