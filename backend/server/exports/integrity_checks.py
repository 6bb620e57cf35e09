"""Scores the integrity of versions on request."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Any

from backend.errors import BusyError
from backend.server.exports.task_exports import TaskExports
from backend.server.hosting.task_registry import TaskRegistry
from backend.server.integrity.version_measurements import VersionMeasurements
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

        Raises NotFoundError, also for a task without examples on the server, GoneError, BundleError with the
        reason why it cannot be scored, BusyError, or SettingsError without TensorFlow.
        """
        numbers = [number] if against is None else [number, against]
        jobs = [await self._job(task, one) for one in numbers]
        await asyncio.wait(jobs, timeout=seconds)
        if not all(job.done() for job in jobs):
            return None
        measured = [job.result() for job in jobs]
        score = score_integrity(measured[0], measured[1] if len(measured) > 1 else None)
        examples = int(measured[0].counts.sum())
        return {"version": number, "against": against, "examples": examples, **asdict(score)}

    async def _job(self, task: str, number: int) -> asyncio.Task[IntegrityMeasurement]:
        hosted = self._registry.host(task).task
        weights = await self._results.weights(task, number)
        if not self._measurements.has(hosted, weights.name) and self._measurements.running >= MAX_JOBS:
            raise BusyError("Many versions are being measured for others. Try again in a minute.")
        return await self._measurements.begin(hosted, weights.name)
