"""Evaluates versions on held-out shards in a separate process: the server imports no TensorFlow."""

from __future__ import annotations

import asyncio
import importlib.util
import math
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
import structlog
from msgspec import Struct

from backend.stores.contracts import EvaluationRecord

log = structlog.stdlib.get_logger("minga.evaluation")

# The first answer waits for TensorFlow to be imported.
ANSWER_SECONDS = 300.0
MAX_PENDING = 256
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
ATTEMPTS = 3


class EvaluatorAnswer(Struct, frozen=True):
    """A line from the evaluator process: loss and metrics of a version, or the reason of a failure."""

    version: int
    loss: float = math.nan
    metrics: dict[str, float] = {}
    error: str = ""


class EvaluatorFailedError(Exception):
    """The process ended, timed out or sent an invalid answer; a new process replaces it."""


def can_evaluate() -> bool:
    """Whether this installation has TensorFlow for the evaluator's process."""
    return importlib.util.find_spec("tensorflow") is not None


class EvaluatorProcess:
    """Owns the evaluator process of `task` and passes results to `report`, oldest version first.

    If more than MAX_PENDING versions wait, the oldest are dropped. `failed` is called with the number of each
    version that could not be evaluated.
    """

    def __init__(
        self,
        bundle: Path,
        shards: Sequence[Path],
        report: Callable[[EvaluationRecord], Awaitable[None]],
        task: str,
        failed: Callable[[int], Awaitable[None]] | None = None,
    ) -> None:
        self._log = log.bind(task=task)
        self._failed = failed
        self._setup = {"bundle": str(bundle.resolve()), "shards": [str(shard) for shard in shards]}
        self._report = report
        self._pending: deque[tuple[int, Path]] = deque(maxlen=MAX_PENDING)
        self._current: int | None = None
        self._submitted = asyncio.Event()
        self._process: asyncio.subprocess.Process | None = None
        self._stderr_tail = b""
        self._stderr_reader: asyncio.Task[None] | None = None

    @property
    def waiting(self) -> set[int]:
        """Numbers of the versions whose weights files are still needed."""
        waiting = {version for version, _ in self._pending}
        return waiting if self._current is None else waiting | {self._current}

    def submit(self, version: int, weights: Path) -> None:
        """Queues the evaluation of a version; `weights` is the file of its weights."""
        self._pending.append((version, weights))
        self._submitted.set()

    async def run(self) -> None:
        """Evaluates queued versions until cancelled, then ends the process."""
        try:
            while True:
                await self._submitted.wait()
                self._submitted.clear()
                while self._pending:
                    version, weights = self._pending.popleft()
                    self._current = version
                    await self._evaluate_with_retries(version, weights)
                    self._current = None
        finally:
            await self._end()

    async def _evaluate_with_retries(self, version: int, weights: Path) -> None:
        pause = FIRST_PAUSE
        for attempt in range(1, ATTEMPTS + 1):
            try:
                await self._report(await self._evaluate(version, weights))
                return
            except EvaluatorFailedError as error:
                self._log.warning("evaluation failed", version=version, attempt=attempt, reason=str(error))
                await self._end()
                await asyncio.sleep(pause)
                pause = min(LONGEST_PAUSE, pause * 4)
        if self._failed is not None:
            await self._failed(version)

    async def _evaluate(self, version: int, weights: Path) -> EvaluationRecord:
        process = self._process or await self._start()
        stdin, stdout = process.stdin, process.stdout
        assert stdin is not None  # noqa: S101 - it is a pipe.
        assert stdout is not None  # noqa: S101 - it is a pipe.
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                stdin.write(_line({"version": version, "weights": str(weights)}))
                await stdin.drain()
                line = await stdout.readline()
        except (OSError, TimeoutError, ValueError) as error:
            raise EvaluatorFailedError(str(error) or "no answer in time") from error
        if not line:
            stderr = self._stderr_tail.decode(errors="replace").strip()
            raise EvaluatorFailedError(stderr[-300:] or "its process ended")
        try:
            answer = msgspec.json.decode(line, type=EvaluatorAnswer)
        except msgspec.DecodeError as error:
            raise EvaluatorFailedError(f"nonsense: {line[:200]!r}") from error
        if answer.error:
            raise EvaluatorFailedError(answer.error)
        if answer.version != version or not all(map(math.isfinite, (answer.loss, *answer.metrics.values()))):
            raise EvaluatorFailedError(f"unusable answer {line[:200]!r}")
        return EvaluationRecord(version, answer.loss, answer.metrics)

    async def _start(self) -> asyncio.subprocess.Process:
        pipe = asyncio.subprocess.PIPE
        command = (sys.executable, "-m", "backend.peer.training.evaluator")
        try:
            self._process = await asyncio.create_subprocess_exec(
                *command, stdin=pipe, stdout=pipe, stderr=pipe
            )
        except OSError as error:
            raise EvaluatorFailedError(f"it could not be started: {error}") from error
        self._stderr_reader = asyncio.create_task(self._read_stderr(self._process))
        assert self._process.stdin is not None  # noqa: S101 - it is a pipe.
        self._process.stdin.write(_line(self._setup))
        return self._process

    async def _read_stderr(self, process: asyncio.subprocess.Process) -> None:
        """Reads the process's stderr, so that it never blocks, and keeps the end for an error report."""
        assert process.stderr is not None  # noqa: S101 - it is a pipe.
        while block := await process.stderr.read(4096):
            self._stderr_tail = (self._stderr_tail + block)[-2000:]

    async def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        if self._stderr_reader is not None:
            await self._stderr_reader


def _line(message: object) -> bytes:
    return msgspec.json.encode(message) + b"\n"
