"""What of work units is written down: epochs as rounds with their versions, results, and checkpoints."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from backend.numerics.aggregation.asynchronous import Memory
from backend.numerics.vectors import Vector
from backend.server.observers import task_events
from backend.server.units.checkpoint_codec import content_of
from backend.server.units.epoch_record import Epoch
from backend.server.units.state import UnitsState
from backend.server.versions.checkpoints import Checkpoint
from backend.stores.contracts import EvaluationRecord, RoundRecord, VersionRecord

# Checkpoints come no more often, and take no more than this part of the time.
CHECKPOINT_SECONDS, SHARE = 1.0, 0.25
STEADY_SECONDS = 5.0


@dataclass(frozen=True)
class EpochSnapshot:
    """How it stood at one moment: after `base` results, of which the last is the `number`th, in `epoch`."""

    base: int
    weights: Vector
    memory: Memory
    content: bytes
    number: int
    epoch: int


@dataclass(frozen=True)
class Ended:
    """An epoch that is over, for a `reason` where it was cut short, at the loop's time `now`."""

    epoch: Epoch
    reason: str
    now: float
    kept: EpochSnapshot


class UnitRecorder:
    """Writes one thing after the other. `clock` gives the time of day (Unix seconds)."""

    def __init__(self, hosted: UnitsState, clock: Callable[[], float]) -> None:
        self._state = hosted
        self._clock = clock
        self._lock = asyncio.Lock()

    async def epoch(self, ended: Ended) -> VersionRecord | None:
        """Writes an epoch down; the version that it made, None where no result was blended in it."""
        async with self._lock:
            began = self._state.clock()
            record = ended.epoch.record(ended.reason, ended.now, self._clock())
            version = await self._state.background.stored(lambda: self._write(ended, record))
            self._state.recording -= 1
            if version is not None:
                self._state.notice(task_events.VersionMade(version.version, self._state.clock() - began))
            self._state.notice(task_events.RoundEnded(record, version, "epoch"))
            return version

    async def _write(self, ended: Ended, record: RoundRecord) -> VersionRecord | None:
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
                point=point,
            )
        else:
            await history.add_abandoned(record, given, point)
        self._recorded(point)
        return version

    def _point(self, kept: EpochSnapshot) -> Checkpoint:
        rows = [row for row in self._state.rows if row.number <= kept.number]
        return Checkpoint(self._clock(), kept.epoch, kept.base, kept.weights, kept.memory, kept.content, rows)

    def _recorded(self, point: Checkpoint) -> None:
        """They are written down; a measurement that came meanwhile is not."""
        written = {row.number: row for row in point.assimilations}
        late = [row for row in self._state.rows if row.number in written and row is not written[row.number]]
        self._state.rows = [row for row in self._state.rows if row.number not in written]
        for row in late:
            if row.loss is not None:
                found = EvaluationRecord(0, row.loss, row.metrics)
                self._state.background.spawn(self._measured(row.number, found))

    async def keep_on(self) -> None:
        """Writes checkpoints while there is something new, until cancelled."""
        at = self._state
        while True:
            await at.changed.wait()
            await self._be_steady()
            began = at.clock()
            async with self._lock:
                # An epoch that is to be written down comes first, with what belongs to it.
                if not at.recording:
                    at.changed.clear()
                    content = content_of(at, at.blending, began)
                    kept = EpochSnapshot(at.base, at.weights, at.memory, content, at.number, at.epoch.number)
                    await at.background.stored(lambda kept=kept: self._keep(kept))  # type: ignore[misc]
            await asyncio.sleep(max(CHECKPOINT_SECONDS, (at.clock() - began) / SHARE))

    async def _be_steady(self) -> None:
        """Answers of servers may overtake each other here: waits until none did, but not for ever."""
        until = self._state.clock() + STEADY_SECONDS
        while not self._state.steady and self._state.clock() < until:  # noqa: ASYNC110 - it is seldom and short.
            await asyncio.sleep(0.01)

    async def _keep(self, kept: EpochSnapshot) -> None:
        point = self._point(kept)
        await self._state.history.keep(point)
        self._recorded(point)

    async def measured(self, number: int, found: EvaluationRecord) -> None:
        """Writes down how good the model was after a result."""
        rows = self._state.rows
        for place, row in enumerate(rows):
            if row.number == number:
                rows[place] = replace(row, loss=found.loss, metrics=found.metrics)
                self._state.changed.set()
                return
        await self._measured(number, found)

    async def _measured(self, number: int, found: EvaluationRecord) -> None:
        await self._state.background.stored(lambda: self._state.history.add_measurement(number, found))

    async def evaluation(self, version: int, measured: EvaluationRecord) -> None:
        """Writes down what a version was measured to be."""
        found = replace(measured, version=version)
        await self._state.background.stored(lambda: self._state.history.add_evaluation(found))
        self._state.notice(task_events.VersionEvaluated(found))

    async def let_go(self, busy: set[int]) -> None:
        """Lets go of versions that the task file keeps no longer."""
        await self._state.history.let_go(busy, self._clock())
