"""Checks versions for signs of a backdoor beside the training, so that only those that pass are offered."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import asdict

import structlog

from backend.errors import CancelledError, MingaError, StoreError
from backend.formats.task_file.integrity import IntegrityTable
from backend.numerics.integrity.integrity_score import IntegrityPart
from backend.numerics.integrity.verdict import IntegrityVerdict
from backend.protocols.tasks.task_life import RUNNING, Order
from backend.server.hosting.task_host import TaskHost
from backend.server.hosting.task_lifecycle import TaskLifecycle
from backend.server.integrity.integrity_report import class_names
from backend.server.integrity.version_measurements import VersionMeasurements
from backend.server.integrity.version_verdict import judge_version
from backend.server.observers import task_events
from backend.server.sandbox.integrity import IntegrityMeasurement
from backend.server.versions.promotion import DOUBTFUL
from backend.stores.contracts import CheckCause, IntegrityRecord, VersionRecord

log = structlog.stdlib.get_logger("minga.integrity")

# Seconds until a check that could not be recorded is tried again.
STORE_PAUSE = 10.0


class VersionGate:
    """A Companion of a task's host that checks one version after another, the newest first.

    What waits follows from the records, so a check that a restart interrupted is made again. `clock` gives
    the time of day (Unix seconds).
    """

    def __init__(
        self,
        host: TaskHost,
        lifecycle: TaskLifecycle,
        plan: IntegrityTable,
        measurements: VersionMeasurements,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._host, self._lifecycle, self._plan = host, lifecycle, plan
        self._measurements, self._clock = measurements, clock
        self._changed = asyncio.Event()

    def notice(self, task: str, event: task_events.TaskEvent) -> None:
        """See Observer."""
        changes = task_events.RoundEnded | task_events.VersionEvaluated | task_events.TaskFinished
        if task == self._host.name and isinstance(event, changes):
            self._changed.set()

    async def run(self) -> None:
        """Checks the versions that wait, until cancelled."""
        while True:
            self._changed.clear()
            waiting = self._host.history.checks.waiting(ended=self._host.phase == "finished")
            for number, cause in waiting.items():
                await self._check(number, cause)
                break
            else:
                await self._changed.wait()

    async def accept(self, number: int) -> None:
        """Offers version `number` in spite of its check. Raises NotFoundError, OrderError or StoreError."""
        check = await self._host.history.checks.accept(number, self._clock())
        self._host.notice(task_events.VersionChecked(check))

    async def _check(self, number: int, cause: CheckCause) -> None:
        history = self._host.history
        version = next(each for each in history.versions if each.version == number)
        against = history.checks.offered if self._plan.compares else None
        log.info("checking a version", task=self._host.name, version=number, cause=cause)
        try:
            verdict = await self._verdict(version, against)
        except CancelledError:
            # The server ends, and the next one makes the check.
            await asyncio.Event().wait()
            return
        check = IntegrityRecord(
            number,
            verdict.outcome,
            verdict.score,
            [asdict(part) for part in verdict.parts],
            None if against is None else against.version,
            cause,
            self._clock(),
        )
        try:
            await history.checks.add(check)
        except StoreError as error:
            log.warning("a check is not recorded", task=self._host.name, version=number, reason=str(error))
            await asyncio.sleep(STORE_PAUSE)
            return
        self._host.notice(task_events.VersionChecked(check))
        if check.outcome in DOUBTFUL and self._plan.on_failure == "pause":
            await self._pause(number)

    async def _verdict(self, version: VersionRecord, against: VersionRecord | None) -> IntegrityVerdict:
        """Raises CancelledError when the server ends."""
        number, checks = version.version, self._host.history.checks
        try:
            measured = await self._measured(version)
            before = None if against is None else await self._measured(against)
            return judge_version(
                self._plan,
                measured,
                before,
                checks.updates_part(number),
                class_names(self._host.task.file),
                self._has_passed(),
                checks.is_pushed(number, since=checks.offered.version),
            )
        except CancelledError:
            raise
        except MingaError as error:
            return IntegrityVerdict("unmeasured", None, (IntegrityPart("check", None, str(error)),))

    def _has_passed(self) -> bool:
        """Whether the offered version was checked; version 0 is not."""
        promotion = self._host.history.checks.promotion
        return promotion is not None and promotion.has_passed(promotion.offered.version)

    async def _measured(self, version: VersionRecord) -> IntegrityMeasurement:
        # Shielded, as others may wait for the same measurement.
        return await asyncio.shield(await self._measurements.begin(self._host.task, version.weights))

    async def _pause(self, number: int) -> None:
        if self._lifecycle.life.state not in RUNNING:
            return
        reason = f"Version {number} did not pass its integrity check, and the owner decides how to go on."
        try:
            await self._lifecycle.order(Order.PAUSE, reason)
        except MingaError as error:
            log.warning("the task is not paused", task=self._host.name, reason=str(error))
