"""[security.kept_updates] and what it cannot be combined with."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from backend.errors import TaskFileError
from backend.formats.task_file import KeptUpdatesTable, TaskFile, parse_task
from tests.support.tasks.tiny_task import task_toml, volunteer_toml


def task(text: str | None = None, table: dict[str, Any] | None = None, **tables: dict[str, Any]) -> TaskFile:
    content = tomllib.loads(text or task_toml("tiny", {}))
    content.setdefault("security", {})["kept_updates"] = {"rounds": 3} if table is None else table
    for name, changes in tables.items():
        content[name] = content.get(name, {}) | changes
    return parse_task(content, "here")


def test_nothing_is_kept_without_the_table_and_512_mib_at_most_by_default() -> None:
    assert parse_task(tomllib.loads(task_toml("tiny", {})), "here").security.kept_updates is None
    kept = task().security.kept_updates
    assert kept == KeptUpdatesTable(3, 512)
    assert kept.most_bytes == 512 << 20


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ({}, "rounds"),
        ({"rounds": 0}, "rounds"),
        ({"rounds": 51}, "rounds"),
        ({"rounds": 3, "disk": 0}, "disk"),
        ({"rounds": 3, "disk": 4097}, "disk"),
        ({"rounds": 3, "clients": 1}, "clients"),
    ],
)
def test_what_makes_no_sense_is_refused(table: dict[str, Any], sentence: str) -> None:
    with pytest.raises(TaskFileError, match=sentence):
        task(table=table)


def test_it_goes_with_a_robust_rule_and_reputation() -> None:
    content = tomllib.loads(task_toml("tiny", {"min_available_clients": 3, "quorum": 3}))
    robust = {"rule": "median", "attackers": 1}
    content["security"] |= {"kept_updates": {"rounds": 3}, "robust": robust, "reputation": {}}
    assert parse_task(content, "here").security.kept_updates is not None


@pytest.mark.parametrize("aggregation", [["masked"], ["masked", "open"]])
def test_masked_updates_cannot_be_kept(aggregation: list[str]) -> None:
    content = tomllib.loads(task_toml("tiny", {"min_available_clients": 8, "quorum": 8}))
    content["security"] |= {"kept_updates": {"rounds": 3}, "aggregation": aggregation}
    with pytest.raises(TaskFileError, match="no single updates to keep: masks leave only their sum"):
        parse_task(content, "here")


@pytest.mark.parametrize(
    ("mechanism", "sentence"),
    [
        ("central", "would come without any"),
        ("local", "the noise in each update is longer"),
        ("examples", "the noise in each update is longer"),
    ],
)
def test_no_mechanism_of_noise_is_undone_by_keeping_updates(mechanism: str, sentence: str) -> None:
    content = tomllib.loads(task_toml("tiny", {}))
    content["data"] = {"source": "volunteer", "preprocess": {"kind": "array"}}
    content["privacy"] = {"mechanism": mechanism, "clip": 1.0, "noise_multiplier": 1.0}
    content["security"]["kept_updates"] = {"rounds": 3}
    with pytest.raises(TaskFileError, match=sentence):
        parse_task(content, "here")


def test_control_variates_and_other_schemes_are_refused() -> None:
    with pytest.raises(TaskFileError, match=r"control_variates cannot be combined with \[security\.kept"):
        task(training={"control_variates": True})
    with pytest.raises(TaskFileError, match="each result is blended alone"):
        task(volunteer_toml("tiny"))
    mesh = task_toml("tiny", {"scheme": "decentralized"}).replace("max_update_norm = 50.0", "")
    with pytest.raises(TaskFileError, match="no server sees updates"):
        task(mesh)
