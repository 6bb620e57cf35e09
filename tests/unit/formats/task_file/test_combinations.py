"""What a task file asks for together, and what it is told instead where that cannot be."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from backend.errors import TaskFileError
from backend.formats.task_file import TaskFile, parse_task
from tests.support.tasks.tiny_task import task_toml

OWN = {"source": "volunteer", "preprocess": {"kind": "array"}}


def masked(masking: dict[str, Any] | None = None, **tables: dict[str, Any]) -> TaskFile:
    """A task of masked rounds among three clients at least; `tables` add to its own."""
    task = tomllib.loads(task_toml("tiny", {"min_available_clients": 3, "quorum": 3}))
    task["security"] |= {"aggregation": ["masked"], "masking": {"min_clients": 3} | (masking or {})}
    for name, table in tables.items():
        task[name] = table if name == "data" else task.get(name, {}) | table
    return parse_task(task, "here")


def test_updates_are_clipped_to_the_bound_on_all_updates_where_nothing_else_is_said() -> None:
    assert masked().security.clip == 50.0
    assert masked({"clip": 2.0}).security.clip == 2.0


def test_masked_rounds_have_eight_clients_where_nothing_else_is_said() -> None:
    task = tomllib.loads(task_toml("tiny", {"min_available_clients": 8, "quorum": 8}))
    task["security"]["aggregation"] = ["masked"]
    assert parse_task(task, "here").security.masked.min_clients == 8


@pytest.mark.parametrize(
    ("tables", "sentence"),
    [
        ({"training": {"control_variates": True}}, "no single client's updates.*proximal_mu"),
        ({"coordination": {"quorum": 2}}, "quorum is 2.*at least 3 clients.*Raise it to 3"),
        ({"coordination": {"quorum": 2, "min_available_clients": 2}}, "min_available_clients is 2"),
        (
            {"coordination": {"fraction_train": 0.5, "min_train_clients": 4}, "masking": {"min_clients": 4}},
            "min_available_clients is 3",
        ),
        (
            {"masking": {"server": "active"}, "coordination": {"min_available_clients": 300}},
            "at most 256 clients",
        ),
        ({"masking": {"server": "active", "min_clients": 300}}, "min_clients is over 256"),
        ({"masking": {"min_clients": 2}}, ">= 3"),
        ({"masking": {"bits": 25}}, "25"),
        ({"masking": {"noise": 1.0}}, "unknown field `noise`"),
        ({"masking": {"share": 0.0}}, "> 0"),
        ({"masking": {"share": 1.5}}, "<= 1"),
        (
            {
                "masking": {"share": 0.25},
                "privacy": {"mechanism": "distributed", "clip": 1.0, "noise_multiplier": 1.0},
            },
            "security.masking.share cannot be combined with .privacy.*Leave it out",
        ),
        ({"security": {"aggregation": ["masked", "masked"]}}, "names a way twice"),
        ({"security": {"aggregation": []}}, "length >= 1"),
        ({"security": {"aggregation": ["open"]}}, "security.masking goes with"),
        ({"security": {"aggregation": ["hidden"]}}, "hidden"),
        ({"data": OWN, "coordination": {"fraction_evaluate": 0.5}}, "Leave fraction_evaluate out"),
    ],
)
def test_what_does_not_go_together_is_refused_with_what_would(tables: dict[str, Any], sentence: str) -> None:
    with pytest.raises(TaskFileError, match=sentence):
        masked(**tables)


def test_open_rounds_beside_masked_ones_may_not_see_more_of_their_clients() -> None:
    with pytest.raises(TaskFileError, match="no single client's updates"):
        masked(security={"aggregation": ["open", "masked"]}, training={"control_variates": True})


def test_what_clients_measure_on_examples_of_their_own_is_not_asked_for_where_updates_are_masked() -> None:
    assert masked(data=OWN).fraction_evaluate == 0.0
    assert masked(data=OWN, security={"aggregation": ["open"], "masking": None}).fraction_evaluate == 1.0


def test_held_out_shards_are_public_and_may_be_measured_by_masked_clients() -> None:
    assert masked(coordination={"fraction_evaluate": 0.5}).fraction_evaluate == 0.5
