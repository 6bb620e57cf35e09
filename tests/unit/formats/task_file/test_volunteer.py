"""What the file of a task of work units may say, and what it is told instead where it may not."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from backend.errors import TaskFileError
from backend.formats.task_file import TaskFile, Units, parse_task
from backend.formats.task_file.units import Downpour, VcAsgd, name_of, settings_of
from backend.numerics.aggregation.asynchronous import ASSIMILATIONS
from tests.support.tasks.tiny_task import volunteer_toml

REFERENCE = Path(__file__).parents[4] / "docs/reference/task-file.md"
ALONE: dict[str, Any] = {"replicas": 1, "spot_checks": 0.0}
MASKS: dict[str, Any] = {"aggregation": ["masked"]}
NOISE: dict[str, Any] = {"mechanism": "central", "clip": 1.0, "noise_multiplier": 1.0}

SGD: dict[str, Any] = {"name": "sgd", "learning_rate": 0.1}
DELAYED: dict[str, Any] = {"assimilation": {"name": "dc-asgd"}}
STATED: dict[str, Any] = {"assimilation": {"name": "dc-asgd", "client_rate": 0.01}}


def volunteer(units: dict[str, Any] | None = None, **tables: dict[str, Any]) -> TaskFile:
    """The task `tiny` of work units; `units` and `tables` add to its own."""
    task = tomllib.loads(volunteer_toml("tiny"))
    task["coordination"]["units"] |= units or {}
    for name, table in tables.items():
        task[name] = task.get(name, {}) | table
    return parse_task(task, "here")


def test_the_example_of_the_reference_is_a_task_of_work_units() -> None:
    text = REFERENCE.read_text("utf-8").partition("## Work units for volunteers")[2]
    said = tomllib.loads(text.partition("```toml\n")[2].partition("```")[0])["coordination"]
    file = volunteer(coordination=said)
    assert (file.coordination.volunteer, file.coordination.units) == (True, Units(epochs=40))


def test_epochs_are_what_others_call_rounds() -> None:
    file = volunteer({"epochs": 7})
    assert (file.coordination.rounds, file.coordination.required_clients) == (7, 1)


@pytest.mark.parametrize("name", sorted(ASSIMILATIONS))
def test_every_recipe_can_be_chosen_with_its_defaults(name: str) -> None:
    file = volunteer({"assimilation": {"name": name}, "trust": ALONE})
    assert file.coordination.units is not None
    chosen = file.coordination.units.assimilation
    assert name_of(chosen) == name
    # The server knows the learning rate of the clients.
    known = {"client_rate": 0.1} if name == "dc-asgd" else {}
    ASSIMILATIONS[name](**settings_of(chosen), **known)


def test_settings_reach_the_recipe_and_those_of_clients_do_not() -> None:
    hinge = {"name": "fedasync", "discount": "hinge", "a": 2.0, "b": 1.0, "warm_start": 3}
    file = volunteer({"assimilation": hinge})
    assert file.coordination.units is not None
    assert settings_of(file.coordination.units.assimilation) == {
        "alpha": 0.6,
        "discount": "hinge",
        "a": 2.0,
        "b": 1.0,
    }
    ASSIMILATIONS["fedasync"](**settings_of(file.coordination.units.assimilation))


def test_downpour_fetches_after_as_many_units_as_its_steps_say() -> None:
    assert [Downpour().units, Downpour(n_push=5).units, Downpour(n_push=5, n_fetch=15).units] == [1, 1, 3]


def test_by_itself_it_is_the_papers_with_every_newcomer_checked() -> None:
    units = volunteer().coordination.units
    assert units is not None
    assert units.assimilation == VcAsgd(alpha=None)
    assert (units.trust.replicas, units.trust.checked, units.trust.spot_checks) == (2, 10, 0.02)


@pytest.mark.parametrize(
    ("units", "tables", "sentence"),
    [
        ({}, {"coordination": {"rounds": 9}}, "rounds cannot be combined.*units.epochs"),
        ({}, {"coordination": {"quorum": 2}}, "coordination.quorum cannot be combined.*replicas"),
        ({}, {"coordination": {"deadline": 5.0}}, "coordination.deadline cannot be combined.*units.lease"),
        ({}, {"coordination": {"server_optimizer": {"name": "fedadam"}}}, "server_optimizer.*assimilation"),
        ({}, {"coordination": {"averaging": {}}}, 'averaging goes with scheme = "decentralized"'),
        ({}, {"training": {"control_variates": True}}, "SCAFFOLD.*proximal_mu"),
        ({}, {"security": MASKS}, "masked.*blended alone"),
        ({}, {"privacy": NOISE}, r"\[privacy\] cannot be combined"),
        ({}, {"data": {"shards_per_client": 2}}, "a unit is part of one shard"),
        ({"assimilation": {"name": "easgd"}}, {}, "trust.replicas = 1"),
        ({"assimilation": {"name": "downpour", "n_push": 2, "n_fetch": 3}}, {}, "multiple of n_push"),
        (
            {"assimilation": {"name": "downpour", "n_push": 2}, "rows": 9},
            {},
            "rows cannot be combined with n_push",
        ),
        (
            {"assimilation": {"name": "downpour", "adagrad": 0.1, "learning_rate": 0.5}},
            {},
            "takes the place of learning_rate; leave one out",
        ),
        ({"assimilation": {"name": "fedasync", "b": 2.0}}, {}, "has no `b`"),
        ({"assimilation": {"name": "fedsgd"}}, {}, "fedsgd"),
        (DELAYED, {"model": {"optimizer": {"name": "adam"}}}, 'needs plain gradient descent.*or take "feda'),
        (DELAYED, {"model": {"optimizer": {**SGD, "momentum": 0.9}}}, "without momentum.*client_rate"),
        (DELAYED, {"model": {"optimizer": {**SGD, "clipnorm": 1.0}}}, "without momentum, schedule, clipping"),
        (DELAYED, {"training": {"proximal_mu": 0.1}}, "or training.proximal_mu"),
        (
            {"assimilation": {"name": "downpour", "n_push": 6}},
            {"model": {"optimizer": {**SGD, "gradient_accumulation_steps": 4}}},
            "moves every 4 steps.*Take a multiple of 4",
        ),
        (STATED, {"model": {"optimizer": {**SGD, "momentum": 0.0}}}, "client_rate.*Leave it out"),
        ({"trust": {"trusted": ["me"]}}, {}, "0-9a-f"),
        ({"bound": 0}, {}, "leave `bound` out for no limit, or take 1"),
        ({"bound": -1}, {}, ">= 0"),
        ({"epoch": 3}, {}, "unknown field `epoch`"),
    ],
)
def test_what_does_not_go_with_units_is_refused(
    units: dict[str, Any], tables: dict[str, dict[str, Any]], sentence: str
) -> None:
    with pytest.raises(TaskFileError, match=sentence):
        volunteer(units, **tables)


def test_dc_asgd_goes_with_plain_descent_and_with_others_if_told_what_a_gradient_is() -> None:
    for units, optimizer in ((DELAYED, SGD), (STATED, {"name": "adam"})):
        assert volunteer(units, model={"optimizer": optimizer}).coordination.volunteer


def test_units_and_rounds_are_each_needed_by_their_scheme() -> None:
    task = tomllib.loads(volunteer_toml("tiny"))
    units = task["coordination"].pop("units")
    with pytest.raises(TaskFileError, match=r"needs the table \[coordination.units\]"):
        parse_task(task, "here")
    task["coordination"] = {"scheme": "federated"}
    with pytest.raises(TaskFileError, match="The key is missing: `rounds`"):
        parse_task(task, "here")
    task["coordination"] = {"scheme": "federated", "rounds": 3, "units": units}
    with pytest.raises(TaskFileError, match='units goes with scheme = "volunteer"'):
        parse_task(task, "here")
