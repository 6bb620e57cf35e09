"""The evaluators: processes that evaluate weights on held-out examples beside the training."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backend.server.versions.evaluation import EvaluatorProcess
from backend.stores.contracts import EvaluationRecord

# Each evaluator uses several cores.
CORES_PER_EVALUATOR, MAX_EVALUATORS = 4, 4
# Waiting requests; when results arrive faster than this allows, some are not evaluated.
MAX_WAITING = 16


@dataclass(frozen=True)
class EvaluationRequest:
    """Weights to be evaluated: those after assimilation `number` of `epoch`, or a recorded `version`.

    They are the model's of `base`, and contain `results`. Requests for versions are never skipped.
    """

    epoch: int
    path: Path
    number: int | None = None
    base: int = 0
    results: int = 0
    version: int | None = None


@dataclass(frozen=True)
class EvaluationResult:
    """The evaluation of a request; None if it failed or was skipped."""

    request: EvaluationRequest
    evaluation: EvaluationRecord | None


class UnitEvaluators:
    """Owns the evaluators of a task. Each request is reported once, in any order."""

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
        self._running: dict[int, EvaluationRequest] = {}
        self._tickets = 0
        evaluators = count or min(MAX_EVALUATORS, max(1, (os.cpu_count() or 1) // CORES_PER_EVALUATOR))
        self._evaluators = [
            EvaluatorProcess(bundle, shards, self._measured, task, self._failed) for _ in range(evaluators)
        ]

    @property
    def versions(self) -> set[int]:
        """Versions whose files are still needed."""
        requests = (*self._waiting, *self._running.values())
        return {request.version for request in requests if request.version is not None}

    def tasks(self) -> list[Coroutine[Any, Any, None]]:
        """Returns the coroutines that run as long as the host does."""
        return [evaluator.run() for evaluator in self._evaluators]

    async def ask(self, request: EvaluationRequest) -> None:
        """Queues a request until an evaluator is free. If too many wait, the oldest is skipped."""
        self._waiting.append(request)
        self._next()
        if len(self._waiting) > MAX_WAITING:
            skipped = next((waiting for waiting in self._waiting if waiting.version is None), None)
            if skipped is not None:
                self._waiting.remove(skipped)
                await self._report(EvaluationResult(skipped, None))

    async def _measured(self, evaluation: EvaluationRecord) -> None:
        await self._end(evaluation.version, evaluation)

    async def _failed(self, ticket: int) -> None:
        await self._end(ticket, None)

    async def _end(self, ticket: int, evaluation: EvaluationRecord | None) -> None:
        await self._report(EvaluationResult(self._running.pop(ticket), evaluation))
        self._next()

    def _next(self) -> None:
        for evaluator in self._evaluators:
            if self._waiting and not evaluator.waiting.intersection(self._running):
                request = self._waiting.popleft()
                self._tickets += 1
                self._running[self._tickets] = request
                evaluator.submit(self._tickets, request.path)
