"""What `minga simulate` advises, from figures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from backend.formats.task_file import TaskFile, read_task_file
from backend.simulation.advice import advice, longer
from backend.simulation.outcome import DeviceOutcome, RunFigures
from tests.support.tasks.tiny_task import task_toml

PHONES = DeviceOutcome(
    device="phone",
    clients=60,
    plans=100,
    counted=0.9,
    cut_short=0.0,
    left=0.1,
    late=0.0,
    seconds_needed=20.0,
    seconds_given=60.0,
)
GOOD = RunFigures(
    hours=1.0,
    rounds=100,
    versions=100,
    rounds_per_hour=100.0,
    abandoned_share=0.0,
    full_length_share=0.0,
    round_seconds_median=20.0,
    round_seconds_longest=40.0,
    clients_per_round=11.0,
    updates_per_version=10.0,
    examples_per_version=100.0,
    wasted_work=0.1,
    hours_to_all_versions=1.0,
    budget_spent_at=None,
    client_bytes_down_per_round=1.0,
    client_bytes_up_per_round=1.0,
    server_bytes_out_per_round=1.0,
    server_bytes_in_per_round=1.0,
    server_line_share=0.01,
    devices=(PHONES,),
)
SLOW = replace(PHONES, cut_short=0.5, late=0.2, seconds_needed=90.0)


def task(folder: Path, **coordination: Any) -> TaskFile:
    path = folder / "task.toml"
    path.write_text(task_toml("tiny", {"deadline": 60, "adaptive_deadline": True, **coordination}))
    return read_task_file(path, ())


def test_a_plan_that_works_needs_no_advice(tmp_path: Path) -> None:
    assert advice(GOOD, task(tmp_path)) == []


@pytest.mark.parametrize(
    ("coordination", "devices", "said"),
    [
        ({}, SLOW, "too short for phones: 70% of their work"),
        ({}, SLOW, "raise coordination.deadline to 120,"),
        ({"deadline": 200}, SLOW, "set coordination.min_deadline to 120,"),
        ({"over_selection": 0.3}, SLOW, "phones: 50% of their work"),
    ],
)
def test_a_deadline_that_is_too_short_is_told_with_one_that_is_enough(
    tmp_path: Path, coordination: dict[str, Any], devices: DeviceOutcome, said: str
) -> None:
    (sentence,) = advice(replace(GOOD, devices=(devices,)), task(tmp_path, **coordination))
    assert said in sentence


def test_classes_of_devices_with_hardly_a_plan_are_not_judged(tmp_path: Path) -> None:
    assert advice(replace(GOOD, devices=(replace(SLOW, plans=5),)), task(tmp_path)) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"rounds": 0}, "No round ended"),
        ({"abandoned_share": 0.3}, "30% of the rounds failed for lack of 2 updates: lower"),
        ({"full_length_share": 0.8}, "80% of the rounds lasted until their deadline"),
        ({"wasted_work": 0.6}, "60% of what clients trained is in no version"),
        ({"server_line_share": 0.9}, "The server's line was in use for 90% of the time"),
        ({"hours_to_all_versions": 4.0}, "enough for about 50 of its 100 versions"),
    ],
)
def test_what_goes_wrong_is_told_with_the_key_to_change(
    tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    file = task(tmp_path, quorum=2, stop="{ seconds = 7200 }")
    (sentence,) = advice(replace(GOOD, **change), file)
    assert said in sentence


@pytest.mark.parametrize(("needed", "told"), [(3.0, 5.0), (61.0, 90.0), (601.0, 900.0), (1e9, 86_400.0)])
def test_times_are_rounded_up_to_what_people_write(needed: float, told: float) -> None:
    assert longer(needed) == told


def masked(folder: Path, least: int) -> TaskFile:
    path = folder / "task.toml"
    path.write_text(task_toml("tiny", {"deadline": 60, "min_available_clients": 11, "quorum": least}))
    return read_task_file(path, ("security.aggregation=['masked']", f"security.masking.min_clients={least}"))


@pytest.mark.parametrize(("least", "needed"), [(5, 8), (10, 10)])
def test_masked_rounds_that_fail_say_how_many_must_stay(tmp_path: Path, least: int, needed: int) -> None:
    """Of eleven members eight hold enough shares."""
    (sentence,) = advice(replace(GOOD, abandoned_share=0.34), masked(tmp_path, least))
    assert sentence.startswith(
        "34% of the rounds failed: 11 clients were to be masked together in the median, and fewer "
        f"remained than the {needed} that it takes to unmask their sum: ask for less work"
    )
    assert ("lower security.masking.min_clients" in sentence) == (needed == least)


def test_in_a_sparse_graph_no_third_of_all_must_stay(tmp_path: Path) -> None:
    (sentence,) = advice(replace(GOOD, abandoned_share=0.34, clients_per_round=200.0), masked(tmp_path, 10))
    assert "fewer remained than the 10" in sentence


def test_a_spent_budget_is_said_first(tmp_path: Path) -> None:
    path = tmp_path / "task.toml"
    path.write_text(task_toml("tiny", {"deadline": 60, "rounds": 100}))
    noise = ("privacy.mechanism='central'", "privacy.noise_multiplier=1.0", "privacy.epsilon=3.0")
    file = read_task_file(path, (*noise, "privacy.clip=1.0"))
    assert advice(replace(GOOD, budget_spent_at=12), file)[0].startswith(
        "privacy.epsilon = 3 is spent at version 12 of 100, where the task ends"
    )
    assert advice(replace(GOOD, rounds=0, budget_spent_at=1), file)[0].startswith("privacy.epsilon = 3")
    assert advice(GOOD, file) == []
