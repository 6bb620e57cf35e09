"""Digits of the gallery's task, trained by a real server while some of its clients attack."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from backend.commands.build import build_task
from backend.errors import MingaError, TaskFileError
from backend.lab.robustness.attack_plan import plan_attack
from backend.lab.robustness.attacked_training import AttackedRoundOutcome, RobustnessLab
from backend.lab.robustness.robustness_task import open_robustness_task
from backend.lab.socket_lab.attack_grid import AttackGrid, GridSettings
from backend.lab.socket_lab.hosted_training import HostedTraining
from backend.lab.socket_lab.lab_server import LabServer, lab_server
from backend.lab.socket_lab.task_copy import LabCohort, read_tables, training_tables, write_task
from tests.support.timeouts import HEAVY

pytestmark = [pytest.mark.tensorflow, pytest.mark.timeout(HEAVY)]

DIGITS = Path(__file__).parents[4] / "models" / "digits" / "task.toml"
COHORT = LabCohort(7, 2, 2)


@pytest.fixture(scope="module")
def lab() -> RobustnessLab:
    build_task(DIGITS.parent)
    return RobustnessLab(open_robustness_task(DIGITS))


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[LabServer]:
    async with lab_server(tmp_path / "server") as started:
        yield started


async def train(
    server: LabServer, lab: RobustnessLab, folder: Path, rule: str, attack: str, cohort: LabCohort = COHORT
) -> list[AttackedRoundOutcome]:
    name, plan = f"digits-{attack}-{rule}", plan_attack(attack, lab.task, 1)
    tables = training_tables(read_tables(DIGITS, ()), lab.task, name, rule, cohort)
    parts = lab.task.split(cohort.clients, None, 1)
    file = write_task(folder / name, tables, lab.task, parts, plan)
    training = HostedTraining(server, lab, cohort, plan, 1)
    return [outcome async for outcome in training.run(file, name)]


@pytest.mark.long
async def test_a_lie_holds_back_the_servers_mean_and_not_its_rule(
    server: LabServer, lab: RobustnessLab, tmp_path: Path
) -> None:
    cohort = LabCohort(7, 2, 3)
    clean, attacked, defended = [
        (await train(server, lab, tmp_path, rule, attack, cohort))[-1].accuracy
        for rule, attack in (("mean", "none"), ("mean", "scaled"), ("multi-krum", "scaled"))
    ]
    assert clean > 0.8
    assert attacked < clean - 0.1
    assert defended > clean - 0.1


async def test_refusals_and_ejections_are_those_of_the_servers_records(
    server: LabServer, lab: RobustnessLab, tmp_path: Path
) -> None:
    # Krum bears 2 of 7. The server refuses both, and Krum takes one of the five honest updates.
    refused = await train(server, lab, tmp_path, "krum", "nan")
    assert [(one.refused, one.honest_ejections, one.abandoned) for one in refused] == [(2, 4, None)] * 2
    chosen = await train(server, lab, tmp_path, "multi-krum", "sign-flip")
    assert [(one.refused, one.honest_ejections) for one in chosen] == [(0, 0)] * 2


@pytest.mark.long
async def test_attackers_with_more_examples_claim_what_their_plan_allows(
    server: LabServer, lab: RobustnessLab, tmp_path: Path
) -> None:
    outcomes = await train(server, lab, tmp_path, "mean", "edge-case-backdoor")
    assert [one.refused for one in outcomes] == [0, 0]
    assert all(one.backdoor is not None and 0.0 <= one.backdoor <= 1.0 for one in outcomes)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"rules": ("majority",)}, "There is no rule majority"),
        ({"rules": ("bulyan",)}, "bulyan needs at least 11 clients to bear 2 attackers: of 7 it bears 1"),
        ({"attacks": ("shouting",)}, "There is no attack shouting"),
        ({"cohort": LabCohort(3, 3, 1)}, "at least 1 attacker and 1 honest client"),
        ({"cohort": LabCohort(10_000, 1, 1)}, "take fewer"),
    ],
)
def test_settings_that_no_training_can_have_are_refused_before_any(
    lab: RobustnessLab, changes: dict[str, Any], sentence: str
) -> None:
    settings = GridSettings(("median",), ("nan",), COHORT, None, 1)
    with pytest.raises(MingaError, match=sentence):
        AttackGrid(lab, read_tables(DIGITS, ()), replace(settings, **changes))


def test_the_mean_without_attack_is_always_trained_and_nothing_twice() -> None:
    settings = GridSettings(("krum", "mean", "krum"), ("nan", "none"), COHORT, None, 1)
    assert settings.trainings == [("mean", "none"), ("mean", "nan"), ("krum", "none"), ("krum", "nan")]


async def test_a_training_is_over_on_the_server_when_it_is_over_in_the_lab(
    server: LabServer, lab: RobustnessLab, tmp_path: Path
) -> None:
    assert server.address.root.startswith("http://127.0.0.1:")
    await train(server, lab, tmp_path, "mean", "sign-flip", LabCohort(3, 1, 1))
    assert not server.registry.hosts


async def test_a_task_that_the_server_does_not_take_is_refused_in_words(
    server: LabServer, lab: RobustnessLab, tmp_path: Path
) -> None:
    tables = training_tables(read_tables(DIGITS, ()), lab.task, "digits-x", "mean", LabCohort(3, 1, 1))
    tables["coordination"]["rounds"] = 0
    plan, parts = plan_attack("nan", lab.task, 1), lab.task.split(3, None, 1)
    file = write_task(tmp_path / "x", tables, lab.task, parts, plan)
    with pytest.raises(TaskFileError, match="rounds"):
        async for _ in HostedTraining(server, lab, LabCohort(3, 1, 1), plan, 1).run(file, "digits-x"):
            pass
