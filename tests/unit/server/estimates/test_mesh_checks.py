"""What a plan of members that check each other is described by, and what it is warned of."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from backend.formats.task_file import TaskFile, parse_task
from backend.server.estimates.mesh_checks import check_warnings, described_checks
from backend.server.schemes import scheme_of
from tests.support.tasks.tiny_task import task_toml


def checked(byzantine: dict[str, Any] | None = None, **tables: dict[str, Any]) -> TaskFile:
    """The task `tiny` with four members that check each other; `tables` add to its own."""
    task = tomllib.loads(task_toml("tiny", {"scheme": "decentralized", "min_available_clients": 4}))
    del task["security"], task["data"]["shards_per_client"]
    task["training"] = {"steps": 10}
    task["coordination"]["byzantine"] = byzantine or {}
    for name, table in tables.items():
        task[name] = task.get(name, {}) | table
    return parse_task(task, "here")


def test_a_plan_says_who_checks_whom_and_when_a_newcomer_votes() -> None:
    said = list(described_checks(checked({"validators": 2}).coordination))
    assert said == [
        "Members check each other: they make means again that are in doubt, and ban liars on evidence that "
        "all of them have.",
        "In each round 2 members do the work of others again, instead of their own.",
        "A newcomer's work counts, and it votes, after 100 rounds, once 17 members found its work right, "
        "or more than half where fewer have seats.",
    ]
    file = checked({"validators": 2})
    assert list(scheme_of(file).describe(file.coordination))[-3:] == said


def test_other_tasks_are_neither_described_nor_warned() -> None:
    file = parse_task(tomllib.loads(task_toml("tiny", {})), "here")
    assert not list(described_checks(file.coordination))
    assert not list(check_warnings(file))


def test_four_members_and_ten_steps_need_no_warning() -> None:
    assert list(check_warnings(checked())) == []


@pytest.mark.parametrize(
    ("byzantine", "tables", "begun"),
    [
        ({}, {"coordination": {"min_available_clients": 2}}, "A round opens with 2 members, and where two"),
        ({}, {"coordination": {"min_available_clients": 3}}, "A round opens with 3 members, who convict one"),
        ({}, {"training": {"steps": 2}}, "A round has 2 steps, and sends the whole model"),
        ({}, {"training": {"steps": 24}}, "A round has 24 steps. Honest results of other kinds"),
        ({"validators": 0, "audits": 0, "probation": 0}, {"access": {"newcomers": "invited"}}, "With valid"),
        ({"audits": 0}, {}, "With audits = 0 a newcomer gets a vote"),
    ],
)
def test_what_is_left_to_liars_is_said(
    byzantine: dict[str, Any], tables: dict[str, dict[str, Any]], begun: str
) -> None:
    [warning] = check_warnings(checked(byzantine, **tables))
    assert warning.startswith(begun)


WARM_UP = {"name": "cosine_decay", "decay_steps": 3000, "warmup_target": 0.1, "warmup_steps": 200}


def warming_up(**settings: Any) -> dict[str, Any]:
    return {"optimizer": {"name": "sgd", "learning_rate": 0.001, "schedule": WARM_UP | settings}}


def test_a_learning_rate_that_grows_faster_than_the_radius_is_warned_of() -> None:
    [warning] = check_warnings(checked(model=warming_up()))
    assert warning.startswith("The learning rate grows 100-fold within 20 rounds, and a measured radius")
    assert "Warm up over 233 rounds or more" in warning
    assert not list(check_warnings(checked({"radius": 0.01}, model=warming_up())))
    assert not list(check_warnings(checked(model=warming_up(warmup_steps=2330))))
    assert not list(check_warnings(checked(model=warming_up(warmup_target=0.0001))))


def test_without_validators_no_newcomer_passes_a_check() -> None:
    first, second = check_warnings(checked({"validators": 0}))
    assert "no work is done again" in first
    assert "no newcomer ever passes a check" in second


def test_exact_results_may_have_more_steps() -> None:
    assert list(check_warnings(checked(training={"steps": 24, "exact": "required"}))) == []
