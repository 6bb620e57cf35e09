"""The recorder: writes epochs (as rounds with versions), assimilations and checkpoints."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

import numpy as np

from backend.numerics.aggregation.asynchronous import Memory
from backend.numerics.vectors import Vector
from backend.protocols.units.scheduler_effects import UnitId
from backend.server.observers import task_events
from backend.server.units.checkpoint_codec import encode_checkpoint
from backend.server.units.epoch_record import Epoch
from backend.server.units.state import UnitsState
from backend.server.versions.checkpoints import Checkpoint
from backend.stores.contracts import AssimilationRecord, EvaluationRecord, RoundRecord, VersionRecord

# Usual minimum interval between checkpoints, and the maximum share of time that writing them takes.
CHECKPOINT_SECONDS, MAX_CHECKPOINT_SHARE = 1.0, 0.25
# Maximum wait for outstanding receipts before a checkpoint.
STEADY_SECONDS = 5.0


@dataclass(frozen=True)
class EpochSnapshot:
    """The model and the scheduler at one moment of `epoch`.

    `weights` [P] are those of `base`, with `contained` results; the last assimilation has the `number`.
    `content` is the encoded checkpoint (`checkpoint_codec`).
    """

    base: int
    weights: Vector
    memory: Memory
    content: bytes
    number: int
    epoch: int
    contained: float


@dataclass(frozen=True)
class ClosedEpoch:
    """An epoch that closed at the loop's time `now`. `reason` says why, if it was ended early."""

    epoch: Epoch
    reason: str
    now: float
    snapshot: EpochSnapshot


def snapshot_of(state: UnitsState, unblended: Collection[UnitId], now: float) -> EpochSnapshot:
    """Returns a snapshot of the state. Units in `unblended` are done, but not in the model yet."""
    model = state.model
    content = encode_checkpoint(state, unblended, now)
    return EpochSnapshot(
        base=model.base,
        weights=model.weights,
        memory=model.memory,
        content=content,
        number=model.number,
        epoch=state.run.epoch.number,
        contained=model.contained,
    )


class UnitRecorder:
    """Writes one record at a time. `clock` gives the time of day (Unix seconds).

    Checkpoints are at least `interval` seconds apart.
    """

    def __init__(
        self, state: UnitsState, clock: Callable[[], float], interval: float = CHECKPOINT_SECONDS
    ) -> None:
        self._state = state
        self._clock = clock
        self._interval = interval
        self._lock = asyncio.Lock()

    def expect_epoch(self) -> None:
        """Holds back checkpoints until the closed epoch is written."""
        self._state.records.recording += 1

    async def epoch(self, closed: ClosedEpoch) -> VersionRecord | None:
        """Records an epoch. Returns the version that it made; None if no result of it was assimilated."""
        async with self._lock:
            began = self._state.clock()
            record = closed.epoch.record(closed.reason, closed.now, self._clock())
            version = await self._state.background.stored(lambda: self._write(closed, record))
            self._state.records.recording -= 1
            if version is not None:
                self._state.notice(task_events.VersionMade(version.version, self._state.clock() - began))
            self._state.notice(task_events.RoundEnded(record, version, "epoch"))
            return version

    async def _write(self, closed: ClosedEpoch, record: RoundRecord) -> VersionRecord | None:
        history, epoch = self._state.history, closed.epoch
        contributions, checkpoint = epoch.contributions(), self._checkpoint(closed.snapshot)
        version: VersionRecord | None = None
        if epoch.blended:
            metrics = epoch.metrics(self._state.task.bundle.manifest.metrics)
            version = await history.add_version(
                closed.snapshot.weights,
                np.zeros(0, np.float32),
                epoch.examples,
                epoch.mean_loss(),
                metrics,
                record,
                contributions,
                checkpoint=checkpoint,
            )
        else:
            await history.add_abandoned(record, contributions, checkpoint)
        self._recorded(checkpoint)
        return version

    def _checkpoint(self, snapshot: EpochSnapshot) -> Checkpoint:
        rows = [row for row in self._state.records.rows if row.number <= snapshot.number]
        return Checkpoint(
            self._clock(),
            snapshot.epoch,
            snapshot.base,
            snapshot.weights,
            snapshot.memory,
            snapshot.content,
            rows,
        )

    def _recorded(self, checkpoint: Checkpoint) -> None:
        """Removes the written rows. An evaluation that arrived during the write is added to its record."""
        for row in self._state.records.remove_written(checkpoint.assimilations):
            if row.loss is not None:
                evaluation = EvaluationRecord(0, row.loss, row.metrics)
                self._state.background.spawn(self._measured(row.number, evaluation))

    async def write_checkpoints(self) -> None:
        """Writes a checkpoint after each change, until cancelled."""
        state = self._state
        while True:
            await state.records.changed.wait()
            async with self._lock:
                # Results may arrive while an epoch is written, so this waits after that.
                await self._wait_until_steady()
                began = state.clock()
                # A closed epoch is written first, with its own checkpoint.
                if not state.records.recording:
                    state.records.changed.clear()
                    snapshot = snapshot_of(state, state.model.assimilating, began)
                    await state.background.stored(lambda snapshot=snapshot: self._write_checkpoint(snapshot))  # type: ignore[misc]
            await asyncio.sleep(max(self._interval, (state.clock() - began) / MAX_CHECKPOINT_SHARE))

    async def _wait_until_steady(self) -> None:
        """Waits until all receipts up to the newest weights have arrived, at most STEADY_SECONDS."""
        deadline = self._state.clock() + STEADY_SECONDS
        while not self._state.model.steady and self._state.clock() < deadline:  # noqa: ASYNC110 - it is seldom and short.
            await asyncio.sleep(0.01)

    async def _write_checkpoint(self, snapshot: EpochSnapshot) -> None:
        checkpoint = self._checkpoint(snapshot)
        await self._state.history.add_checkpoint(checkpoint)
        self._recorded(checkpoint)

    async def measured(self, number: int, evaluation: EvaluationRecord) -> None:
        """Records the evaluation of the model after assimilation `number`."""
        if not self._state.records.measured(number, evaluation):
            await self._measured(number, evaluation)

    async def _measured(self, number: int, evaluation: EvaluationRecord) -> None:
        await self._state.background.stored(lambda: self._state.history.add_measurement(number, evaluation))

    async def evaluation(self, version: int, evaluation: EvaluationRecord) -> None:
        """Records the evaluation of a version."""
        record = replace(evaluation, version=version)
        await self._state.background.stored(lambda: self._state.history.add_evaluation(record))
        self._state.notice(task_events.VersionEvaluated(record))

    async def assimilations(self, after: int, last: int | None) -> list[AssimilationRecord]:
        """Returns the newest `last` assimilations (None: all) after number `after`. Raises StoreError.

        Includes those that are not recorded yet.
        """
        recorded = await self._state.history.assimilations(after, last)
        newest = recorded[-1].number if recorded else after
        rows = [*recorded, *(row for row in self._state.records.rows if row.number > newest)]
        return rows if last is None else rows[max(0, len(rows) - last) :]

    async def let_go(self, busy: set[int]) -> None:
        """Deletes the files of versions that the task file no longer keeps, except those in `busy`."""
        await self._state.history.let_go(busy, self._clock())
