"""Writes a copy of a task for one training of the lab: its rule, its clients and their examples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from backend.datasets.sharding.repartition import repartition
from backend.errors import DataError, SettingsError
from backend.formats.task_file import RobustTable
from backend.formats.task_file.reading.reader import parse_task, read_task_tables, set_value
from backend.lab.robustness.attack_plan import AttackPlan
from backend.lab.robustness.robustness_task import RobustnessTask
from backend.lab.robustness.rule_names import PLAIN, robust_table
from backend.server.drafts.toml import to_toml
from backend.server.tasks.task import TASK_FILE

# Nobody is late: one machine trains for all clients, one after the other.
DEADLINE = 3600.0
# What concerns other people, the task's own end, or files that the copy does not have.
_LEFT_OUT = ("hooks", "alerts", "access", "checkpoints", "follows", "try")


@dataclass(frozen=True)
class LabCohort:
    """The clients of all rounds, of whom the first `attackers` attack, and the number of rounds."""

    clients: int
    attackers: int
    rounds: int


def robust_rule(name: str, cohort: LabCohort) -> RobustTable | None:
    """Returns the table of a rule, which bears all attackers; None is the server's weighted mean.

    Raises SettingsError for an unknown rule, and, with the numbers, for too few clients.
    """
    if name == PLAIN:
        return None
    table = robust_table(name, cohort.attackers)
    if table.least > cohort.clients:
        raise SettingsError(
            f"{table.words} needs at least {table.least} clients to bear {cohort.attackers} attackers: of "
            f"{cohort.clients} it bears {table.most_attackers(cohort.clients)}. Give --clients "
            f"{table.least}, or fewer --attackers."
        )
    return table


def read_tables(path: Path, overrides: Sequence[str]) -> dict[str, Any]:
    """Reads the tables of the task file at `path`, with values set by `overrides`. Raises TaskFileError."""
    tables = read_task_tables(path)
    for override in overrides:
        set_value(tables, override)
    return tables


def training_tables(
    tables: dict[str, Any], task: RobustnessTask, name: str, rule: str, cohort: LabCohort
) -> dict[str, Any]:
    """Returns the task file's tables for one training, called `name`: all clients are in each round.

    Raises TaskFileError where the rule does not go with the task, and SettingsError (`robust_rule`).
    """
    robust = robust_rule(rule, cohort)
    honest = cohort.clients - cohort.attackers
    data, security = tables["data"], dict(tables.get("security", {}))
    security.pop("robust", None)
    if robust is not None:
        security["robust"] = msgspec.to_builtins(robust)
    rounds = {
        key: value
        for key, value in tables["coordination"].items()
        if key in ("scheme", "server_optimizer", "grace")
    }
    copy = {key: value for key, value in tables.items() if key not in _LEFT_OUT}
    copy |= {
        "name": name,
        "model": {**tables["model"], "bundle": str(task.bundle.absolute())},
        "data": {"source": "shards", "shards": "shards", "preprocess": data.get("preprocess")},
        # A rule of the lab is tried by TensorFlow, whose bits differ between machines.
        "training": {**tables.get("training", {}), "exact": "off"},
        "security": security,
        "coordination": rounds
        | {
            "rounds": cohort.rounds,
            "min_available_clients": cohort.clients,
            "quorum": max(honest, robust.least if robust is not None else 1),
            "deadline": DEADLINE,
            "adaptive_deadline": False,
            "gather": 0.0,
            "fraction_evaluate": 0.0,
        },
    }
    parse_task(copy, f"The task with the rule {rule}")
    return copy


def write_task(
    folder: Path,
    tables: dict[str, Any],
    task: RobustnessTask,
    parts: Sequence[NDArray[np.int64]],
    attack: AttackPlan,
) -> Path:
    """Writes the task file and its shards, one a client, to the new folder; returns the file's path.

    Rare examples that only attackers have are in no shard. Raises BundleError and DataError.
    """
    if attack.rare is not None:
        parts = [rows[~attack.rare[rows]] for rows in parts]
    if not all(len(rows) for rows in parts):
        raise DataError("A client would have no examples. Take fewer clients, or a larger --alpha.")
    repartition(task.shards, parts, folder / "shards", task.graphs.manifest)
    file = folder / TASK_FILE
    file.write_text(to_toml(tables), "utf-8")
    return file
