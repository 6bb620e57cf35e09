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
from backend.server.units.checkpoint_codec import DecodedCheckpoint, decode_checkpoint
from backend.server.units.epoch_record import Epoch
from backend.server.units.parameters.overwritten_results import OverwrittenResults
from backend.server.units.parameters.server_pool import ParameterDeployment
from backend.server.units.parameters.snapshots import SnapshotStore
from backend.server.units.state import (
    ClientCredit,
    ClientState,
    ModelState,
    RecordState,
    RunState,
    TrafficTotals,
    UnitsState,
)
from backend.server.units.validation.usual_results import UsualResults
from backend.server.units.work_generator import data_of, order_of, recipe_of, rules_of, units_of
from backend.server.versions.checkpoints import Checkpoint
from backend.server.versions.version_history import VersionHistory
from backend.stores.contracts import EvaluationRecord

OTHER_DATA = "The data changed while the server was down: the epoch ended with the results it had."


@dataclass(frozen=True)
class RestoredState:
    """The state that a task's records hold: its last checkpoint, and the credit of its clients.

    `point` is None before the first checkpoint. `measured` are the evaluations of the open epoch; `reason`
    says why that epoch ended, if it did.
    """

    point: Checkpoint | None
    content: DecodedCheckpoint
    credits: dict[str, ClientCredit]
    measured: list[EvaluationRecord]
    reason: str = ""


async def load_restored_state(task: Task, history: VersionHistory) -> RestoredState:
    """Reads the state of a run from its records. Raises StoreError."""
    point = await history.last_checkpoint()
    content = _initial_content(history) if point is None else decode_checkpoint(point.content)
    reason = ""
    if content.scheduler.open and content.data != data_of(task):
        content, reason = _closed(content), OTHER_DATA
    if content.order != order_of(task):
        content = without_rests(content)
    credits = {
        record.client: ClientCredit(record.accepted, record.examples)
        for record in await history.contributions()
    }
    measured = [
        EvaluationRecord(0, row.loss, row.metrics)
        for row in await history.assimilations()
        if row.epoch == content.epoch.number and row.epoch > history.round and row.loss is not None
    ]
    return RestoredState(point, content, credits, measured, reason)


def create_state(
    task: Task,
    history: VersionHistory,
    restored: RestoredState,
    scratch: Path,
    observer: Observer,
    limits: TaskLimits,
    parameters: ParameterDeployment,
) -> UnitsState:
    """Creates the state that the parts of a host share, from what the records hold."""
    point, content = restored.point, restored.content
    progress = history.progress(stop_rules(task.file.coordination.stop, "server"))
    place = parameters.place(task.file.name)
    rules = rules_of(task, may_take_out=not place.loses_results)
    return UnitsState(
        task=task,
        units=units_of(task),
        history=history,
        scheduler=Scheduler.restored(rules, content.scheduler),
        servers=parameters.servers(place, recipe_of(task)),
        snapshots=SnapshotStore(scratch),
        observer=observer,
        limits=limits,
        progress=_replayed(progress, content.means),
        model=ModelState(
            base=point.base if point else 0,
            weights=point.weights if point else history.weights,
            memory=point.memory if point else no_memory(),
            number=content.number,
            lost=content.lost,
            removed=content.removed,
        ),
        run=RunState(content.epoch),
        clients=ClientState(credits=restored.credits),
        records=RecordState(means=content.means),
        usual=UsualResults(content.usual),
        takes_out=bool(rules.trust.provisional),
        totals=TrafficTotals(*(content.traffic or (0, 0)), known=content.traffic is not None),
        overwritten=OverwrittenResults(content.overwritten),
    )


def _closed(content: DecodedCheckpoint) -> DecodedCheckpoint:
    """Closes the epoch with the results that it has: its open units are of data that no longer exist."""
    scheduler = content.scheduler
    dropped = scheduler.dropped + len(scheduler.open)
    return replace(content, scheduler=replace(scheduler, open=(), dropped=dropped))


def without_rests(content: DecodedCheckpoint) -> DecodedCheckpoint:
    """Drops the rests of units: the steps in which they are counted have other rows now."""
    scheduler = content.scheduler
    whole = tuple(unit for unit in scheduler.open if unit.work.rows is None)
    dropped = scheduler.dropped + len(scheduler.open) - len(whole)
    return replace(content, scheduler=replace(scheduler, open=whole, dropped=dropped))


def _initial_content(history: VersionHistory) -> DecodedCheckpoint:
    """Returns the content before the first unit of the epoch that follows the last recorded one."""
    # A server that ended before its first checkpoint may have granted leases: their numbers are skipped.
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
    epoch, traffic = Epoch(history.round, history.current.version), (0, 0) if history.round == 0 else None
    return DecodedCheckpoint(scheduler, epoch, 0, [], traffic=traffic)


def _replayed(progress: RunProgress, means: list[EvaluationRecord]) -> RunProgress:
    """Returns progress that received the means of epochs, not the evaluations of their versions."""
    fresh = RunProgress(progress.rules, progress.spent, averaged=True)
    for mean in means:
        fresh.measured(mean.version, mean.source, mean.loss, mean.metrics)
    return fresh
