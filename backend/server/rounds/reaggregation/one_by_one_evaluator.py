"""Measures single versions, one after another, in a process that ends with the last one."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from backend.server.versions.evaluation import EvaluatorProcess
from backend.stores.contracts import EvaluationRecord


class OneByOneEvaluator:
    """Owns an evaluator process of `task`, while it is entered."""

    def __init__(self, bundle: Path, shards: Sequence[Path], task: str) -> None:
        self._process = EvaluatorProcess(bundle, shards, self._measured, task, self._failed)
        self._running: asyncio.Task[None] | None = None
        self._waiting: asyncio.Future[EvaluationRecord | None] | None = None

    async def __aenter__(self) -> Self:
        self._running = asyncio.create_task(self._process.run())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._running is not None:
            self._running.cancel()
            with suppress(asyncio.CancelledError):
                await self._running

    async def measure(self, number: int, weights: Path) -> EvaluationRecord | None:
        """Returns what weights in a file reach on the held-out shards; None if they cannot be measured."""
        self._waiting = asyncio.get_running_loop().create_future()
        self._process.submit(number, weights)
        return await self._waiting

    async def _measured(self, evaluation: EvaluationRecord) -> None:
        self._answer(evaluation)

    async def _failed(self, number: int) -> None:
        del number
        self._answer(None)

    def _answer(self, evaluation: EvaluationRecord | None) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(evaluation)
