"""Builds the coordinator of a mesh from its task file and its records."""

from __future__ import annotations

from backend.errors import TaskFileError
from backend.formats.task_file.rules.exactness import exactness
from backend.formats.task_file.server_optimizer import (
    FedAvg,
    FedAvgM,
    Nesterov,
    ServerOptimizerChoice,
    name_of,
)
from backend.protocols.mesh.coordinator import MeshCoordinator
from backend.protocols.rounds.lots import Lots
from backend.server.hosting import task_frames
from backend.server.mesh.averaging_plan import averages_of
from backend.server.tasks.task import Task
from backend.server.units.validation.tolerances import tolerance_of
from backend.server.versions.version_history import VersionHistory
from backend.wire.byzantine_messages import ByzantineRules, ByzantineTerms, WorkTolerance
from backend.wire.mesh_fields import Outer

# Members of a Byzantine round have worked before its first phase, which takes at most so many patiences.
WORK_PATIENCES = 4


def coordinator_of(task: Task, history: VersionHistory, opening: int, lots: Lots) -> MeshCoordinator:
    """Returns the coordinator of a task's rounds, continued from its history. Raises TaskFileError.

    `opening` counts how often the task was opened, this time included. `lots` decide who is in which group.
    """
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
        group_seed=lots.seed("groups"),
    )


def outer_step_of(optimizer: ServerOptimizerChoice) -> Outer:
    """Returns the outer step that each peer applies to its update before averaging.

    Raises TaskFileError for a server optimizer that no peer can apply.
    """
    match optimizer:
        case FedAvg():
            return Outer(kind="fedavg", learning_rate=optimizer.learning_rate, momentum=0.0)
        case FedAvgM():
            return Outer(kind="fedavgm", learning_rate=optimizer.learning_rate, momentum=optimizer.momentum)
        case Nesterov():
            return Outer(kind="nesterov", learning_rate=optimizer.learning_rate, momentum=optimizer.momentum)
    raise TaskFileError(f"Peers cannot take the step {name_of(optimizer)} themselves; use nesterov.")


def byzantine_rules_of(task: Task, run: str) -> ByzantineRules | None:
    """Returns what the members of the task's `run` check each other by; None if they do not."""
    chosen, patience = task.file.coordination.byzantine, task.file.coordination.averages.patience
    if chosen is None:
        return None
    terms = ByzantineTerms(
        validators=chosen.validators,
        radius=chosen.fixed_radius,
        far=chosen.far,
        probation=chosen.probation,
        audits=chosen.audits,
        seconds=WORK_PATIENCES * patience,
        patience=patience,
    )
    return ByzantineRules(
        terms=terms,
        bundle=task.bundle.address,
        run=run,
        outer=outer_step_of(task.file.coordination.server_optimizer),
        steps=task.file.training.steps or 0,
        batch_size=task.batch_size,
        learning_rate=task.learning_rate,
        tolerance=_work_tolerance(task),
        shards=task_frames.shards(task.shards.train),
    )


def _work_tolerance(task: Task) -> WorkTolerance | None:
    """Returns how far the same work may be apart on two devices; None where it has the same bits on all."""
    if exactness(task.file) == "required":
        return None
    allowed = tolerance_of(task.file.training.steps or 0)
    return WorkTolerance(distance=allowed.distance, cosine=allowed.cosine, blame=allowed.blame)
