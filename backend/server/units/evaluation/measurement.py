"""Evaluators: processes that evaluate weights on held-out examples beside the training."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backend.server.versions.evaluation import EvaluatorProcess
from backend.stores.contracts import EvaluationRecord

# An evaluator computes with several cores.
CORES_EACH, MOST_EVALUATORS = 4, 4
# Measurements that wait; where results come faster, some of them go unmeasured.
MOST_WAITING = 16


@dataclass(frozen=True)
class EvaluationRequest:
    """Weights to be measured: those after the assimilation `number` of `epoch`, or a recorded `version`.

    `base` results are in them. Versions are never left out.
    """

    epoch: int
    path: Path
    number: int | None = None
    base: int = 0
    version: int | None = None


@dataclass(frozen=True)
class EvaluationResult:
    """What came of it; None where it could not be measured, or was left out."""

    request: EvaluationRequest
    evaluation: EvaluationRecord | None


class UnitEvaluators:
    """Owns the evaluators of a task. Each that was asked for is reported once, in any order."""

    def __init__(
        self,
        bundle: Path,
        shards: Sequence[Path],
        task: str,
        report: Callable[[EvaluationResult], Awaitable[None]],
        count: int | None = None,
    ) -> None:
        self._report = report
        self._waiting: deque[EvaluationRequest] = deque()
        self._under_way: dict[int, EvaluationRequest] = {}
        self._tickets = 0
        wanted = count or min(MOST_EVALUATORS, max(1, (os.cpu_count() or 1) // CORES_EACH))
        self._evaluators = [
            EvaluatorProcess(bundle, shards, self._measured, task, self._failed) for _ in range(wanted)
        ]

    @property
    def versions(self) -> set[int]:
        """Versions whose files are still needed."""
        asked = (*self._waiting, *self._under_way.values())
        return {one.version for one in asked if one.version is not None}

    def tasks(self) -> list[Coroutine[Any, Any, None]]:
        """What runs as long as the host does."""
        return [one.run() for one in self._evaluators]

    async def ask(self, asked: EvaluationRequest) -> None:
        """Has weights measured when an evaluator is free. Where too many wait, an older one is left out."""
        self._waiting.append(asked)
        self._next()
        if len(self._waiting) > MOST_WAITING:
            left_out = next((one for one in self._waiting if one.version is None), None)
            if left_out is not None:
                self._waiting.remove(left_out)
                await self._report(EvaluationResult(left_out, None))

    async def _measured(self, found: EvaluationRecord) -> None:
        await self._end(found.version, found)

    async def _failed(self, ticket: int) -> None:
        await self._end(ticket, None)

    async def _end(self, ticket: int, found: EvaluationRecord | None) -> None:
        await self._report(EvaluationResult(self._under_way.pop(ticket), found))
        self._next()

    def _next(self) -> None:
        for evaluator in self._evaluators:
            if self._waiting and not evaluator.waiting.intersection(self._under_way):
                asked = self._waiting.popleft()
                self._tickets += 1
                self._under_way[self._tickets] = asked
                evaluator.submit(self._tickets, asked.path)
