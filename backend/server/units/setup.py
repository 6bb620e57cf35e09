"""Restores the state of a task of work units from its file and records."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from backend.numerics.aggregation.asynchronous import no_memory
from backend.protocols.rounds.stop_rules import RunProgress
from backend.protocols.units.scheduler import Scheduler
from backend.protocols.units.scheduler_snapshot import LEAP, Snapshot
from backend.server.hosting.limits import TaskLimits
from backend.server.observers.observer import Observer
from backend.server.tasks.task import Task, stop_rules
from backend.server.units.checkpoint_codec import Resumed, resumed
from backend.server.units.epoch_record import Epoch
from backend.server.units.parameters.server_pool import ParameterDeployment, ParameterServers
from backend.server.units.parameters.snapshots import SnapshotStore
from backend.server.units.state import (
    ClientCredit,
    ClientState,
    ModelState,
    RecordState,
    RunState,
    UnitsState,
)
from backend.server.units.work_generator import data_of, recipe_of, rules_of, units_of
from backend.server.versions.checkpoints import Checkpoint
from backend.server.versions.version_history import VersionHistory
from backend.stores.contracts import EvaluationRecord

OTHER_DATA = "The data were changed while the server was away: the epoch ended with what it had."


@dataclass(frozen=True)
class RestoredState:
    """What servers before this one left: where the run stands, and what its clients were credited.

    `point` is None before any checkpoint. `measured` are measurements of the open epoch, `reason` says why
    that is over, where it is.
    """

    point: Checkpoint | None
    resumed: Resumed
    credits: dict[str, ClientCredit]
    measured: list[EvaluationRecord]
    reason: str = ""


async def left_by(task: Task, history: VersionHistory) -> RestoredState:
    """What the records say of a run. Raises StoreError."""
    point = await history.last_checkpoint()
    found = _nothing(history) if point is None else resumed(point.content)
    reason = ""
    if found.scheduler.open and found.data != data_of(task):
        found, reason = _closed(found), OTHER_DATA
    credits = {one.client: ClientCredit(one.accepted, one.examples) for one in await history.contributions()}
    measured = [
        EvaluationRecord(0, one.loss, one.metrics)
        for one in await history.assimilations()
        if one.epoch == found.epoch.number and one.epoch > history.round and one.loss is not None
    ]
    return RestoredState(point, found, credits, measured, reason)


def restored_state(
    task: Task,
    history: VersionHistory,
    left: RestoredState,
    scratch: Path,
    observer: Observer,
    limits: TaskLimits,
    parameters: ParameterDeployment,
) -> UnitsState:
    """All of a host that its parts share, as the records leave it."""
    point, found = left.point, left.resumed
    progress = history.progress(stop_rules(task.file.coordination.stop, "server"))
    return UnitsState(
        task=task,
        units=units_of(task),
        history=history,
        scheduler=Scheduler.restored(rules_of(task), found.scheduler),
        servers=ParameterServers(parameters.place(task.file.name), recipe_of(task), parameters.rules),
        snapshots=SnapshotStore(scratch),
        observer=observer,
        limits=limits,
        progress=_seen(progress, found.means),
        model=ModelState(
            base=point.base if point else 0,
            weights=point.weights if point else history.weights,
            memory=point.memory if point else no_memory(),
            number=found.number,
        ),
        run=RunState(found.epoch),
        clients=ClientState(credits=left.credits),
        records=RecordState(means=found.means),
    )


def _closed(found: Resumed) -> Resumed:
    """The epoch is over with what it brought: its other units are of data that are not there any more."""
    left = found.scheduler
    return replace(found, scheduler=replace(left, open=(), dropped=left.dropped + len(left.open)))


def _nothing(history: VersionHistory) -> Resumed:
    """Before the first unit of the epoch that follows the last one on record."""
    # Leases of a server that ended before its first checkpoint are nobody's.
    scheduler = Snapshot(
        epoch=history.round,
        done=0,
        failed=0,
        dropped=0,
        open=(),
        clients=(),
        next_unit=0,
        next_lease=history.lost * LEAP,
    )
    return Resumed(scheduler, Epoch(history.round, history.current.version), 0, [])


def _seen(progress: RunProgress, means: list[EvaluationRecord]) -> RunProgress:
    """The rules as they were shown the means of epochs, not the measurements of their last models."""
    fresh = RunProgress(progress.rules, progress.spent)
    for one in means:
        fresh.measured(one.version, one.source, one.loss, one.metrics)
    return fresh
