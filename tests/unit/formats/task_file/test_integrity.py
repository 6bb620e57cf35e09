"""[security.integrity]: what a server can check, and take back."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from backend.errors import TaskFileError
from backend.formats.task_file import IntegrityTable, TaskFile, parse_task
from tests.support.tasks.tiny_task import task_toml, volunteer_toml


def checked(table: dict[str, Any], toml: str = "") -> TaskFile:
    task = tomllib.loads(toml or task_toml("tiny", {}))
    task.setdefault("security", {})["integrity"] = table
    return parse_task(task, "here")


def test_versions_are_checked_only_where_the_table_is() -> None:
    assert parse_task(tomllib.loads(task_toml("tiny", {})), "here").security.integrity is None
    assert checked({}).security.integrity == IntegrityTable(
        ("trigger", "drift", "updates"), 0.5, 10, "continue"
    )


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ({"parts": []}, "parts"),
        ({"parts": ["drift", "drift"]}, "names a part twice"),
        ({"parts": ["clusters"]}, "parts"),
        ({"parts": ["updates"]}, "updates alone"),
        ({"limit": 1.0}, "limit"),
        ({"limit": 0.0}, "limit"),
        ({"every": 0}, "every"),
        ({"on_failure": "stop"}, "on_failure"),
        ({"often": 3}, "often"),
    ],
)
def test_other_values_are_refused(table: dict[str, Any], sentence: str) -> None:
    with pytest.raises(TaskFileError, match=sentence):
        checked(table)


def test_schemes_that_cannot_be_rolled_back_are_refused() -> None:
    with pytest.raises(TaskFileError, match=r'cannot be combined with scheme = "volunteer"'):
        checked({}, volunteer_toml("tiny"))
    mesh = task_toml("tiny", {"scheme": "decentralized"}).replace("max_update_norm = 50.0\n", "")
    with pytest.raises(TaskFileError, match=r'cannot be combined with scheme = "decentralized"'):
        checked({}, mesh)
