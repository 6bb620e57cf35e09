"""Runs a task owner's command after every round (docs/how-to/run-a-command-after-each-round.md).

Each command runs in its own process, one at a time, beside the rounds: no round waits for it.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec
import structlog

from backend.formats.task_file.hooks import Hooks
from backend.server.observers import task_events
from backend.stores.contracts import EvaluationRecord

log = structlog.stdlib.get_logger("minga.hooks")

# Rounds that may wait for a slow command; beyond that the oldest are dropped.
MAX_WAITING = 16
# The exit code by which a command ends the task.
STOP_CODE = 3
# Only the end of a command's output is logged, at most this many bytes.
OUTPUT_BYTES = 2000


class RoundEndHook:
    """An Observer that runs a command for each recorded round, with the round as JSON on standard input.

    `run` runs the commands; `stop` is called with a reason when a command ends the task. `evaluated` is the
    newest evaluation so far.
    """

    def __init__(
        self,
        hooks: Hooks,
        folder: Path,
        stop: Callable[[str], Awaitable[None]],
        evaluated: EvaluationRecord | None = None,
    ) -> None:
        self._command = hooks.on_round_end or []
        self._seconds = hooks.seconds
        self._folder = folder
        self._stop = stop
        self._rounds: deque[tuple[str, bytes]] = deque(maxlen=MAX_WAITING)
        self._queued = asyncio.Event()
        self._evaluated = evaluated

    def notice(self, task: str, event: task_events.TaskEvent) -> None:
        """See Observer."""
        match event:
            case task_events.VersionEvaluated(evaluation):
                self._evaluated = evaluation
            case task_events.RoundEnded():
                if len(self._rounds) == MAX_WAITING:
                    problem = f"the hook is too slow: one {event.word} is left out"
                    log.warning(problem, task=task, waiting=MAX_WAITING)
                self._rounds.append((task, msgspec.json.encode(self._record(task, event))))
                self._queued.set()

    async def run(self) -> None:
        """Runs the command for each queued round in turn, until cancelled."""
        while True:
            await self._queued.wait()
            while self._rounds:
                task, record = self._rounds.popleft()
                await self._run_once(task, record)
            self._queued.clear()

    def _record(self, task: str, ended: task_events.RoundEnded) -> dict[str, Any]:
        version = ended.version
        return {
            "task": task,
            **asdict(ended.round),
            "made": None
            if version is None
            else {
                "version": version.version,
                "weights": version.weights,
                "examples": version.examples,
                "loss": version.loss,
                "metrics": version.metrics,
            },
            "evaluation": None if self._evaluated is None else asdict(self._evaluated),
        }

    async def _run_once(self, task: str, record: bytes) -> None:
        line = log.bind(task=task)
        try:
            code, output = await self._run_process(record)
        except TimeoutError:
            line.warning("the hook was ended: it took too long", seconds=self._seconds)
            return
        except OSError as error:
            line.error("the hook cannot be run", command=self._command[0], reason=str(error))
            return
        if code == STOP_CODE:
            line.info("the hook ends the task", output=output)
            last = output.splitlines()[-1:] or ["The owner's program asked for it."]
            await self._stop(last[0][:300])
        elif code:
            line.warning("the hook failed", code=code, output=output)
        else:
            line.info("the hook ran", output=output)

    async def _run_process(self, record: bytes) -> tuple[int, str]:
        """Returns the exit code and the end of the output. Raises TimeoutError or OSError.

        No process remains when it returns or raises.
        """
        process = await asyncio.create_subprocess_exec(
            *self._command,
            cwd=self._folder,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            async with asyncio.timeout(self._seconds):
                output, _ = await asyncio.gather(_tail(process.stdout), _write(process.stdin, record))
                return await process.wait(), output
        finally:
            # The command leads its own session: killing that group also ends the processes it started.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()


async def _write(stdin: asyncio.StreamWriter | None, record: bytes) -> None:
    """Writes the record and closes standard input; a command need not read it."""
    assert stdin is not None  # noqa: S101 - asked for above.
    with suppress(BrokenPipeError, ConnectionResetError):
        stdin.write(record + b"\n")
        await stdin.drain()
    stdin.close()


async def _tail(stdout: asyncio.StreamReader | None) -> str:
    """Reads all output and returns its end."""
    assert stdout is not None  # noqa: S101 - asked for above.
    tail = b""
    while data := await stdout.read(1 << 16):
        tail = (tail + data)[-OUTPUT_BYTES:]
    return tail.decode("utf-8", "replace").strip()
