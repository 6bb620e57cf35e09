"""What the file of a task whose members check each other may say, and what it is told where it may not."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from backend.errors import TaskFileError
from backend.formats.task_file import ByzantineTable, TaskFile, parse_task
from backend.formats.task_file.rules.byzantine import shards_conflict
from backend.server.mesh.averaging_plan import averages_of
from tests.support.tasks.tiny_task import task_toml

REFERENCE = Path(__file__).parents[4] / "docs/reference/task-file.md"


def checked(byzantine: dict[str, Any] | None = None, **tables: dict[str, Any]) -> TaskFile:
    """The task `tiny`, whose members check each other; `tables` add to its own, and None leaves a key out."""
    task = tomllib.loads(task_toml("tiny", {"scheme": "decentralized"}))
    del task["security"], task["data"]["shards_per_client"]
    task["training"] = {"steps": 10}
    task["coordination"]["byzantine"] = byzantine or {}
    for name, table in tables.items():
        task[name] = {key: value for key, value in (task.get(name, {}) | table).items() if value is not None}
    return parse_task(task, "here")


def test_the_example_of_the_reference_is_a_task_whose_members_check_each_other() -> None:
    text = REFERENCE.read_text("utf-8").partition("### Members that check each other")[2]
    tables = tomllib.loads(text.partition("```toml\n")[2].partition("```")[0])
    byzantine = tables["coordination"].pop("byzantine")
    assert checked(byzantine, **tables).coordination.byzantine == ByzantineTable(**byzantine)


def test_where_nothing_else_is_said_one_validator_checks_and_the_radius_is_measured() -> None:
    table = checked().coordination.byzantine
    assert table == ByzantineTable(validators=1, radius="auto", far=4.0, probation=100, audits=17)
    assert table.fixed_radius is None
    fixed = checked({"radius": 2}).coordination.byzantine
    assert fixed is not None
    assert fixed.fixed_radius == 2.0


def test_all_make_one_group_and_send_exact_values_in_parts() -> None:
    averages = averages_of(checked(), 1000)
    assert averages is not None
    assert averages.byzantine
    assert (averages.group_size, averages.exchange, averages.precision) == (32, "butterfly", "float32")


def test_a_task_without_the_table_is_as_before() -> None:
    task = tomllib.loads(task_toml("tiny", {"scheme": "decentralized"}))
    del task["security"]
    file = parse_task(task, "here")
    averages = averages_of(file, 1000)
    assert file.coordination.byzantine is None
    assert averages is not None
    assert not averages.byzantine


@pytest.mark.parametrize(
    ("byzantine", "sentence"),
    [
        ({"radius": 0}, 'radius is 0.*"auto"'),
        ({"radius": -1.5}, 'radius is -1.5.*"auto"'),
        ({"radius": float("inf")}, 'radius is inf.*"auto"'),
        ({"radius": "wide"}, "radius"),
        ({"far": 0.5}, "far is 0.5.*4 is usual"),
        ({"far": float("nan")}, "far is nan"),
        ({"validators": -1}, ">= 0"),
        ({"validators": 17}, "<= 16"),
        ({"audits": -1}, ">= 0"),
        ({"probation": 0}, 'probation = 0 needs access.newcomers = "invited".*100 rounds'),
        ({"seats": 8}, "unknown field `seats`"),
    ],
)
def test_values_that_would_check_nothing_are_refused(byzantine: dict[str, Any], sentence: str) -> None:
    with pytest.raises(TaskFileError, match=sentence):
        checked(byzantine)


def test_people_with_an_invitation_may_vote_at_once() -> None:
    table = checked({"probation": 0}, access={"newcomers": "invited"}).coordination.byzantine
    assert table == ByzantineTable(probation=0)


@pytest.mark.parametrize(
    ("tables", "sentence"),
    [
        (
            {"data": {"source": "volunteer", "shards": None, "preprocess": {"kind": "array"}}},
            'source = "volunteer".*nobody else has.*Take source = "shards"',
        ),
        ({"data": {"shards_per_client": 2}}, "shards_per_client.*a public coin draws.*Leave it out"),
        ({"data": {"partition": {"kind": "iid", "clients": 3}}}, "data.partition.*a public coin draws"),
        ({"training": {"steps": None}}, r"needs training.steps.*Say steps = 10 in \[training\]\."),
        ({"training": {"steps": None, "epochs": 2}}, "Say steps = 10.*in place of epochs = 2"),
        ({"training": {"steps": 65}}, "training.steps is 65.*at most 64.*Say 10"),
        ({"training": {"proximal_mu": 0.1}}, "proximal_mu.*Leave it out"),
        ({"training": {"control_variates": True}}, "control_variates.*Leave it out"),
        ({"security": {"aggregation": ["masked"]}}, r'masks hide it. Take aggregation = \["open"\]'),
        (
            {"privacy": {"mechanism": "local", "clip": 1.0, "noise_multiplier": 1.0}},
            r'\[privacy\] cannot.*noise would make it other work.*"federated"',
        ),
        ({"averaging": {"groups": "random"}}, "averaging.groups.*one group, of at most 32"),
        ({"averaging": {"group_size": 32}}, "averaging.group_size.*one group, of at most 32"),
        ({"averaging": {"reducer": "trimmed_mean"}}, '"trimmed_mean".*a clipped mean.*Leave it out'),
        ({"averaging": {"precision": "int8"}}, '"int8".*exact values.*float32'),
        ({"averaging": {"exchange": "ring"}}, '"ring".*Take "butterfly"'),
        ({"coordination": {"fraction_train": 0.5}}, "fraction_train.*Leave it out"),
    ],
)
def test_what_others_could_not_do_again_is_refused(tables: dict[str, Any], sentence: str) -> None:
    coordination = tables.pop("coordination", {})
    if averaging := tables.pop("averaging", None):
        coordination = coordination | {"averaging": averaging}
    with pytest.raises(TaskFileError, match=sentence):
        checked(coordination=coordination, **tables)


def test_files_at_addresses_are_refused_as_nobody_can_check_what_another_host_sends() -> None:
    file = {"address": "https://data.example.org/digits.npz", "sha256": "0" * 64, "bytes": 1000}
    data = {
        "source": "url",
        "shards": None,
        "preprocess": {"kind": "array"},
        "url": {"files": [file], "train": 100},
    }
    with pytest.raises(TaskFileError, match=r'source = "url".*Take source = "shards"'):
        checked(data=data)


@pytest.mark.parametrize("scheme", ["federated", "volunteer"])
def test_only_members_of_a_mesh_check_each_other(scheme: str) -> None:
    task = tomllib.loads(task_toml("tiny", {"scheme": scheme}))
    if scheme == "volunteer":
        task["coordination"] = {"scheme": scheme, "units": {"epochs": 3}}
    task["coordination"]["byzantine"] = {}
    with pytest.raises(TaskFileError, match='byzantine goes with scheme = "decentralized"'):
        parse_task(task, "here")


def test_exact_values_and_one_owner_a_part_may_be_said() -> None:
    averaging = {"precision": "float32", "exchange": "butterfly"}
    assert checked(coordination={"averaging": averaging}).coordination.byzantine is not None


def test_more_shards_than_members_are_told_of_are_refused() -> None:
    assert shards_conflict(checked(), 4096) is None
    assert "4,097 training shards" in (shards_conflict(checked(), 4097) or "")
