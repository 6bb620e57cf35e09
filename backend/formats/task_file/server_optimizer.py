"""Defines the table [coordination.server_optimizer]: how the mean update becomes the next version.

Names and defaults are those of the papers and of Flower; backend/numerics/aggregation/server_optimizers.py
implements each one.
"""

from __future__ import annotations

from typing import Any

import msgspec

from backend.formats.task_file.types import Positive, Share, TaskTable


class FedAvg(TaskTable, frozen=True, tag_field="name", tag="fedavg"):
    """FedAvg: plain averaging."""

    learning_rate: Positive = 1.0


class FedAvgM(TaskTable, frozen=True, tag_field="name", tag="fedavgm"):
    """FedAvgM: averaging with momentum."""

    learning_rate: Positive = 1.0
    momentum: Share = 0.9


class FedAdagrad(TaskTable, frozen=True, tag_field="name", tag="fedadagrad"):
    """FedAdagrad: Adagrad on the server."""

    eta: Positive = 0.1
    tau: Positive = 1e-3


class FedAdam(TaskTable, frozen=True, tag_field="name", tag="fedadam"):
    """FedAdam: Adam on the server."""

    eta: Positive = 0.1
    beta_1: Share = 0.9
    beta_2: Share = 0.99
    tau: Positive = 1e-3


class FedYogi(TaskTable, frozen=True, tag_field="name", tag="fedyogi"):
    """FedYogi: Yogi on the server."""

    eta: Positive = 0.01
    beta_1: Share = 0.9
    beta_2: Share = 0.99
    tau: Positive = 1e-3


class Nesterov(TaskTable, frozen=True, tag_field="name", tag="nesterov"):
    """Nesterov's momentum on the server, DiLoCo's outer optimizer."""

    learning_rate: Positive = 0.7
    momentum: Share = 0.9


ServerOptimizerChoice = FedAvg | FedAvgM | FedAdagrad | FedAdam | FedYogi | Nesterov
FEDAVG = FedAvg()


def hyperparameters(choice: ServerOptimizerChoice) -> dict[str, Any]:
    """Returns the settings of a server optimizer by key, without its name."""
    settings: dict[str, Any] = msgspec.structs.asdict(choice)
    return settings


def name_of(choice: ServerOptimizerChoice) -> str:
    """Returns a server optimizer's name in the task file."""
    return str(choice.__struct_config__.tag)
