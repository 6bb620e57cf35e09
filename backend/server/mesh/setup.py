"""What a task's file and its records make of the machine of its mesh."""

from __future__ import annotations

from backend.errors import TaskFileError
from backend.formats.task_file.server_optimizer import (
    FedAvg,
    FedAvgM,
    Nesterov,
    ServerOptimizerChoice,
    name_of,
)
from backend.protocols.mesh.coordinator import MeshCoordinator
from backend.server.mesh.averaging_plan import averages_of
from backend.server.tasks.task import Task
from backend.server.versions.version_history import VersionHistory
from backend.wire.mesh_fields import Outer


def convener_of(task: Task, history: VersionHistory, opening: int) -> MeshCoordinator:
    """The machine of a task's rounds, as its history leaves them."""
    plan, averages = task.plan(), averages_of(task.file, task.bundle.manifest.parameters.total)
    if averages is None:
        raise TaskFileError("Peers of this task do not average among themselves: its server adds up.")
    newest = history.current
    return MeshCoordinator(
        plan=plan,
        averages=averages,
        weights=newest.weights,
        weights_round=newest.round,
        number=history.round,
        version=newest.version,
        opening=opening,
        progress=history.progress(plan.stop),
        past=history.accepted,
    )


def outer_step(chosen: ServerOptimizerChoice) -> Outer:
    """What each peer does with its way before it is averaged. Raises TaskFileError for a step of no peer."""
    match chosen:
        case FedAvg():
            return Outer(kind="fedavg", learning_rate=chosen.learning_rate, momentum=0.0)
        case FedAvgM():
            return Outer(kind="fedavgm", learning_rate=chosen.learning_rate, momentum=chosen.momentum)
        case Nesterov():
            return Outer(kind="nesterov", learning_rate=chosen.learning_rate, momentum=chosen.momentum)
    raise TaskFileError(f"No peer takes the step {name_of(chosen)} by itself; take nesterov.")
