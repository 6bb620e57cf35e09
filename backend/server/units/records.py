"""The recorder: writes epochs (as rounds with versions), assimilations and checkpoints of work units."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

import numpy as np

from backend.numerics.aggregation.asynchronous import Memory
from backend.numerics.vectors import Vector
from backend.protocols.units.scheduler_effects import UnitId
from backend.server.observers import task_events
from backend.server.units.checkpoint_codec import content_of
from backend.server.units.epoch_record import Epoch
from backend.server.units.state import UnitsState
from backend.server.versions.checkpoints import Checkpoint
from backend.stores.contracts import AssimilationRecord, EvaluationRecord, RoundRecord, VersionRecord

# Checkpoints come no more often, and take no more than this part of the time.
CHECKPOINT_SECONDS, SHARE = 1.0, 0.25
STEADY_SECONDS = 5.0


@dataclass(frozen=True)
class EpochSnapshot:
    """The model and the scheduler at one moment of `epoch`, after `base` results, the last the `number`th."""

    base: int
    weights: Vector
    memory: Memory
    content: bytes
    number: int
    epoch: int


@dataclass(frozen=True)
class ClosedEpoch:
    """An epoch that is over, for a `reason` where it was cut short, at the loop's time `now`."""

    epoch: Epoch
    reason: str
    now: float
    kept: EpochSnapshot


def snapshot_of(state: UnitsState, unblended: Collection[UnitId], now: float) -> EpochSnapshot:
    """The state of now. Units in `unblended` are done, but not in the model yet."""
    model = state.model
    content = content_of(state, unblended, now)
    return EpochSnapshot(
        model.base, model.weights, model.memory, content, model.number, state.run.epoch.number
    )


class UnitRecorder:
    """Writes one record at a time. `clock` gives the time of day (Unix seconds)."""

    def __init__(self, state: UnitsState, clock: Callable[[], float]) -> None:
        self._state = state
        self._clock = clock
        self._lock = asyncio.Lock()

    def expect_epoch(self) -> None:
        """Writes no checkpoint until the next epoch is written."""
        self._state.records.recording += 1

    async def epoch(self, ended: ClosedEpoch) -> VersionRecord | None:
        """Writes an epoch down; the version that it made, None where no result was blended in it."""
        async with self._lock:
            began = self._state.clock()
            record = ended.epoch.record(ended.reason, ended.now, self._clock())
            version = await self._state.background.stored(lambda: self._write(ended, record))
            self._state.records.recording -= 1
            if version is not None:
                self._state.notice(task_events.VersionMade(version.version, self._state.clock() - began))
            self._state.notice(task_events.RoundEnded(record, version, "epoch"))
            return version

    async def _write(self, ended: ClosedEpoch, record: RoundRecord) -> VersionRecord | None:
        history, epoch = self._state.history, ended.epoch
        given, point = epoch.contributions(), self._point(ended.kept)
        version: VersionRecord | None = None
        if epoch.blended:
            metrics = epoch.metrics(self._state.task.bundle.manifest.metrics)
            nothing = np.zeros(0, np.float32)
            version = await history.add_version(
                ended.kept.weights,
                nothing,
                epoch.examples,
                epoch.mean_loss(),
                metrics,
                record,
                given,
                checkpoint=point,
            )
        else:
            await history.add_abandoned(record, given, point)
        self._recorded(point)
        return version

    def _point(self, kept: EpochSnapshot) -> Checkpoint:
        rows = [row for row in self._state.records.rows if row.number <= kept.number]
        return Checkpoint(self._clock(), kept.epoch, kept.base, kept.weights, kept.memory, kept.content, rows)

    def _recorded(self, point: Checkpoint) -> None:
        """Removes rows that are written; an evaluation that arrived meanwhile is added to its record."""
        for row in self._state.records.remove_written(point.assimilations):
            if row.loss is not None:
                found = EvaluationRecord(0, row.loss, row.metrics)
                self._state.background.spawn(self._measured(row.number, found))

    async def write_checkpoints(self) -> None:
        """Writes checkpoints while there is something new, until cancelled."""
        state = self._state
        while True:
            await state.records.changed.wait()
            await self._wait_until_steady()
            began = state.clock()
            async with self._lock:
                # An epoch that is to be written down comes first, with what belongs to it.
                if not state.records.recording:
                    state.records.changed.clear()
                    kept = snapshot_of(state, state.model.assimilating, began)
                    await state.background.stored(lambda kept=kept: self._write_checkpoint(kept))  # type: ignore[misc]
            await asyncio.sleep(max(CHECKPOINT_SECONDS, (state.clock() - began) / SHARE))

    async def _wait_until_steady(self) -> None:
        """Answers of servers may overtake each other here: waits until none did, but not for ever."""
        until = self._state.clock() + STEADY_SECONDS
        while not self._state.model.steady and self._state.clock() < until:  # noqa: ASYNC110 - it is seldom and short.
            await asyncio.sleep(0.01)

    async def _write_checkpoint(self, kept: EpochSnapshot) -> None:
        point = self._point(kept)
        await self._state.history.add_checkpoint(point)
        self._recorded(point)

    async def measured(self, number: int, found: EvaluationRecord) -> None:
        """Writes down how good the model was after a result."""
        if not self._state.records.measured(number, found):
            await self._measured(number, found)

    async def _measured(self, number: int, found: EvaluationRecord) -> None:
        await self._state.background.stored(lambda: self._state.history.add_measurement(number, found))

    async def evaluation(self, version: int, measured: EvaluationRecord) -> None:
        """Writes down what a version was measured to be."""
        found = replace(measured, version=version)
        await self._state.background.stored(lambda: self._state.history.add_evaluation(found))
        self._state.notice(task_events.VersionEvaluated(found))

    async def assimilations(self, after: int, last: int | None) -> list[AssimilationRecord]:
        """The newest `last` results (None: all) after number `after`, recorded or not. Raises StoreError."""
        recorded = await self._state.history.assimilations(after, last)
        newest = recorded[-1].number if recorded else after
        rows = [*recorded, *(row for row in self._state.records.rows if row.number > newest)]
        return rows if last is None else rows[max(0, len(rows) - last) :]

    async def let_go(self, busy: set[int]) -> None:
        """Lets go of versions that the task file keeps no longer."""
        await self._state.history.let_go(busy, self._clock())
