"""Scores the integrity of versions on request."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Any

from backend.errors import BusyError
from backend.server.exports.task_exports import TaskExports
from backend.server.hosting.task_registry import TaskRegistry
from backend.server.integrity.integrity_report import class_names
from backend.server.integrity.version_measurements import VersionMeasurements
from backend.server.integrity.version_verdict import score_checked
from backend.server.sandbox.integrity import IntegrityMeasurement, score_integrity

# Measurements that are running or wait.
MAX_JOBS = 8


class IntegrityChecks:
    """Answers requests for scores from the server's measurements."""

    def __init__(
        self, registry: TaskRegistry, results: TaskExports, measurements: VersionMeasurements
    ) -> None:
        self._registry, self._results, self._measurements = registry, results, measurements

    async def score(
        self, task: str, number: int, against: int | None, seconds: float
    ) -> dict[str, Any] | None:
        """Scores version `number` (docs/reference/http.md); None if that takes longer than `seconds`.

        A task that checks its versions compares it as its check does, unless `against` says with which other.
        Raises NotFoundError, also for a task without examples on the server, GoneError, BundleError with the
        reason why it cannot be scored, BusyError, or SettingsError without TensorFlow.
        """
        host = self._registry.host(task)
        checks, by_check = host.history.checks, against is None
        promotion, plan = checks.promotion, checks.plan
        if against is None and promotion is not None and plan is not None and plan.compares:
            against = promotion.base_of(number)
        numbers = [number] if against is None else [number, against]
        jobs = [await self._job(task, one) for one in numbers]
        await asyncio.wait(jobs, timeout=seconds)
        if not all(job.done() for job in jobs):
            return None
        measured, *others = [job.result() for job in jobs]
        other, names = others[0] if others else None, class_names(host.task.file)
        if plan is None or promotion is None:
            score = score_integrity(measured, other, names=names)
        else:
            has_passed = against is not None and promotion.has_passed(against)
            is_pushed = not by_check or checks.is_pushed(number, since=against or 0)
            updates = checks.updates_part(number) if "updates" in plan.parts else None
            score = score_checked(measured, other, updates, names, has_passed, is_pushed)
        examples = int(measured.counts.sum())
        return {"version": number, "against": against, "examples": examples, **asdict(score)}

    async def _job(self, task: str, number: int) -> asyncio.Task[IntegrityMeasurement]:
        hosted = self._registry.host(task).task
        weights = await self._results.weights(task, number)
        if not self._measurements.has(hosted, weights.name) and self._measurements.running >= MAX_JOBS:
            raise BusyError("Many versions are being measured for others. Try again in a minute.")
        return await self._measurements.begin(hosted, weights.name)
