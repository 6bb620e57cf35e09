"""What a decentralized task's file may say, and what it is told instead where it may not."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from backend.errors import TaskFileError
from backend.formats.task_file import Averaging, TaskFile, parse_task
from backend.server.mesh.averaging_plan import averages_of
from tests.support.tasks.tiny_task import task_toml

REFERENCE = Path(__file__).parents[4] / "docs/reference/task-file.md"


def decentralized(averaging: dict[str, Any] | None = None, **tables: dict[str, Any]) -> TaskFile:
    """The task `tiny`, decentralized; `tables` add to its own."""
    task = tomllib.loads(task_toml("tiny", {"scheme": "decentralized"}))
    del task["security"]
    if averaging is not None:
        task["coordination"]["averaging"] = averaging
    for name, table in tables.items():
        task[name] = task.get(name, {}) | table
    return parse_task(task, "here")


def test_the_example_of_the_reference_is_a_decentralized_task() -> None:
    text = REFERENCE.read_text("utf-8").partition("## Without a server that adds up")[2]
    said = tomllib.loads(text.partition("```toml\n")[2].partition("```")[0])["coordination"]
    averaging = said.pop("averaging")
    assert decentralized(averaging, coordination=said).coordination.averages == Averaging(**averaging)


def test_groups_of_eight_that_are_near_average_in_float16_where_nothing_else_is_said() -> None:
    chosen = decentralized().coordination.averages
    assert (chosen.groups, chosen.group_size) == ("near", 8)
    averages = averages_of(decentralized(), 1000)
    assert averages is not None
    assert (averages.precision, averages.exchange, averages.fewest) == ("float16", "auto", 2)
    assert (chosen.reducer, chosen.patience) == ("mean", 5.0)


@pytest.mark.parametrize(
    ("tables", "sentence"),
    [
        ({"training": {"control_variates": True}}, "SCAFFOLD.*proximal_mu"),
        ({"security": {"max_update_norm": 5.0}}, "max_update_norm.*trimmed_mean"),
        (
            {"privacy": {"mechanism": "central", "clip": 1.0, "noise_multiplier": 1.0}},
            r"\[privacy\] cannot be combined",
        ),
        (
            {"coordination": {"server_optimizer": {"name": "fedadam"}}},
            '"fedadam" cannot be combined.*nesterov',
        ),
        ({"coordination": {"fraction_train": 0.5}}, "fraction_train.*Leave it out"),
        ({"coordination": {"over_selection": 0.3}}, "over_selection.*Leave it out"),
        ({"coordination": {"min_train_clients": 3}}, "min_train_clients.*Leave it out"),
        ({"averaging": {"exchange": "full"}}, "set group_size to 4"),
        ({"averaging": {"exchange": "ring", "reducer": "centered_clip"}}, "butterfly"),
        ({"averaging": {"group_size": 1}}, ">= 2"),
        ({"averaging": {"precision": "float64"}}, "float64"),
        ({"averaging": {"masks": True}}, "unknown field `masks`"),
    ],
)
def test_what_needs_a_server_that_sees_updates_is_refused(tables: dict[str, Any], sentence: str) -> None:
    averaging = tables.pop("averaging", None)
    with pytest.raises(TaskFileError, match=sentence):
        decentralized(averaging, **tables)


THREE = {"min_available_clients": 3, "quorum": 3}


def test_where_updates_are_masked_every_group_masks_its_pieces() -> None:
    file = decentralized(coordination=THREE, security={"aggregation": ["masked"]})
    averages = averages_of(file, 1000)
    assert averages is not None
    assert (averages.precision, averages.exchange) == ("masked", "butterfly")
    assert (averages.fewest, averages.quorum) == (3, 3)


@pytest.mark.parametrize(
    ("tables", "sentence"),
    [
        ({"security": {"aggregation": ["masked", "open"]}}, "all members of a group mask, or none does"),
        ({"security": {"masking": {"min_clients": 3}}}, "leave the table out"),
        ({"averaging": {"reducer": "trimmed_mean"}}, '"trimmed_mean" looks at single values'),
        ({"averaging": {"exchange": "ring"}}, '"ring" cannot be combined.*take "butterfly"'),
        ({"averaging": {"exchange": "full", "group_size": 3}}, '"full" cannot be combined.*take "butterfly"'),
        ({"averaging": {"precision": "float32"}}, "precision cannot be combined.*Leave it out"),
        ({"averaging": {"group_size": 2}}, "group_size is 2.*Raise it to 3"),
        ({"coordination": {"quorum": 2}}, "quorum is 2.*Raise it to 3"),
        ({"coordination": {"quorum": 2, "min_available_clients": 2}}, "min_available_clients is 2"),
    ],
)
def test_what_masks_in_a_group_do_not_go_with_is_refused(tables: dict[str, Any], sentence: str) -> None:
    security = {"aggregation": ["masked"]} | tables.pop("security", {})
    coordination = THREE | tables.pop("coordination", {})
    averaging = tables.pop("averaging", None)
    with pytest.raises(TaskFileError, match=sentence):
        decentralized(averaging, security=security, coordination=coordination, **tables)


def test_only_decentralized_tasks_average_among_peers() -> None:
    task = tomllib.loads(task_toml("tiny", {}))
    task["coordination"]["averaging"] = {"groups": "random"}
    with pytest.raises(TaskFileError, match="averaging goes with"):
        parse_task(task, "here")


def test_the_averaging_of_a_task_is_one_of_the_known() -> None:
    assert decentralized({"groups": "grid"}).coordination.averages == Averaging(groups="grid")
