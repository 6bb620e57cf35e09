"""Trains a task once for each rule under each attack, on one server, and reports what remains."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backend.errors import SettingsError
from backend.formats.task_file.reading.reader import parse_task
from backend.lab.robustness.attack_plan import NO_ATTACK, AttackPlan, plan_attack
from backend.lab.robustness.attacked_training import RobustnessLab
from backend.lab.robustness.rule_names import PLAIN
from backend.lab.robustness.training_curves import TrainingCurves, curves_of
from backend.lab.socket_lab.hosted_training import HostedTraining
from backend.lab.socket_lab.lab_server import LabServer, lab_server
from backend.lab.socket_lab.task_copy import LabCohort, training_tables, write_task
from backend.server.tasks.task_validation import check_rule

# Rounds done, rounds of all trainings, and the training's rule and attack.
GridProgress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class GridSettings:
    """What is trained: each of `rules` under each of `attacks`, and without attack.

    `alpha` is Dirichlet's, by which examples are split among clients; None splits them evenly.
    """

    rules: Sequence[str]
    attacks: Sequence[str]
    cohort: LabCohort
    alpha: float | None
    seed: int

    @property
    def trainings(self) -> list[tuple[str, str]]:
        """The rule and the attack of each training; the plain mean without attack comes first."""
        attacks = dict.fromkeys((NO_ATTACK, *self.attacks))
        return list(product(dict.fromkeys((PLAIN, *self.rules)), attacks))


@dataclass(frozen=True)
class AttackResult:
    """The training with one rule under one attack."""

    rule: str
    attack: str
    curves: TrainingCurves


@dataclass(frozen=True)
class AttackReport:
    """All trainings of a task, in the order of `GridSettings.trainings`."""

    task: str
    parameters: int
    settings: GridSettings
    results: Sequence[AttackResult]

    @property
    def clean(self) -> float:
        """The final accuracy of the plain mean where nobody attacks."""
        return self.results[0].curves.final_accuracy

    def share(self, result: AttackResult) -> float:
        """Returns a final accuracy as a share of `clean`; 0 where that is 0."""
        return result.curves.final_accuracy / self.clean if self.clean else 0.0


class AttackGrid:
    """Trains a task by `settings`; `tables` are those of its task file. Raises MingaError for a bad setting.

    All settings are checked here, before anything is trained.
    """

    def __init__(self, lab: RobustnessLab, tables: dict[str, Any], settings: GridSettings) -> None:
        cohort = settings.cohort
        if not 1 <= cohort.attackers < cohort.clients:
            raise SettingsError(
                f"Of {cohort.clients} clients, {cohort.attackers} cannot attack: give at least 1 attacker "
                "and 1 honest client."
            )
        self._lab, self._settings = lab, settings
        trainings, task = settings.trainings, lab.task.file.name[:48]
        self._plans = {attack: plan_attack(attack, lab.task, settings.seed) for _, attack in trainings}
        self._names = {training: f"{task}-{number}" for number, training in enumerate(trainings)}
        self._tables = {
            (rule, attack): training_tables(tables, lab.task, name, rule, cohort)
            for (rule, attack), name in self._names.items()
        }
        for (rule, _), one in self._tables.items():
            check_rule(parse_task(one, f"The task with the rule {rule}"))
        self._parts: list[NDArray[np.int64]] = lab.task.split(cohort.clients, settings.alpha, settings.seed)

    async def run(self, folder: Path, progress: GridProgress) -> AttackReport:
        """Starts a server with its data in `folder`, trains, and returns the report. Raises MingaError."""
        results, rounds = [], self._settings.cohort.rounds
        total = rounds * len(self._names)
        async with lab_server(folder / "server") as server:
            for number, (rule, attack) in enumerate(self._names):
                text = f"{rule}, {attack}"

                def done(count: int, before: int = rounds * number, text: str = text) -> None:
                    progress(before + count, total, text)

                curves = await self._train(server, folder / "tasks", (rule, attack), done)
                results.append(AttackResult(rule, attack, curves))
        task = self._lab.task
        return AttackReport(task.file.name, len(task.weights), self._settings, results)

    async def _train(
        self, server: LabServer, folder: Path, training: tuple[str, str], progress: Callable[[int], None]
    ) -> TrainingCurves:
        plan: AttackPlan = self._plans[training[1]]
        name, tables = self._names[training], self._tables[training]
        file = write_task(folder / name, tables, self._lab.task, self._parts, plan)
        hosted = HostedTraining(server, self._lab, self._settings.cohort, plan, self._settings.seed)
        outcomes = []
        progress(0)
        async for outcome in hosted.run(file, name):
            outcomes.append(outcome)
            progress(len(outcomes))
        return curves_of(outcomes)
