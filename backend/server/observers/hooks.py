"""A task owner's command that runs after every round (docs/how-to/run-a-command-after-each-round.md).

It runs in a process of its own, one at a time, while rounds go on: whatever it does, no round waits for it.
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

# Rounds that wait for a slow command; of more the oldest are left out.
WAITING = 16
# The exit code that ends the task.
STOP = 3
# Of what a command prints only the end is kept.
OUTPUT_BYTES = 2000


class RoundEndHook:
    """An Observer that runs a command for each recorded round, with what is known of it on standard input.

    `run` performs it; `stop` is called with a reason when the command asks for the task's end. `evaluated` is
    the newest evaluation so far.
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
        self._rounds: deque[tuple[str, bytes]] = deque(maxlen=WAITING)
        self._more = asyncio.Event()
        self._evaluated = evaluated

    def notice(self, task: str, event: task_events.TaskEvent) -> None:
        """See Observer."""
        match event:
            case task_events.VersionEvaluated(found):
                self._evaluated = found
            case task_events.RoundEnded():
                if len(self._rounds) == WAITING:
                    problem = f"the hook is too slow: one {event.word} is left out"
                    log.warning(problem, task=task, waiting=WAITING)
                self._rounds.append((task, msgspec.json.encode(self._record(task, event))))
                self._more.set()

    async def run(self) -> None:
        """Runs the command for one round after the other, until cancelled."""
        while True:
            await self._more.wait()
            while self._rounds:
                task, record = self._rounds.popleft()
                await self._run_once(task, record)
            self._more.clear()

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
            code, output = await self._perform(record)
        except TimeoutError:
            line.warning("the hook was ended: it took too long", seconds=self._seconds)
            return
        except OSError as error:
            line.error("the hook cannot be run", command=self._command[0], reason=str(error))
            return
        if code == STOP:
            line.info("the hook ends the task", output=output)
            last = output.splitlines()[-1:] or ["The owner's program asked for it."]
            await self._stop(last[0][:300])
        elif code:
            line.warning("the hook failed", code=code, output=output)
        else:
            line.info("the hook ran", output=output)

    async def _perform(self, record: bytes) -> tuple[int, str]:
        """Exit code and the end of the output. Raises TimeoutError, OSError; leaves no process behind."""
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
                output, _ = await asyncio.gather(_tail(process.stdout), _give(process.stdin, record))
                return await process.wait(), output
        finally:
            # It leads a session of its own, so that whatever it started ends with it.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()


async def _give(stdin: asyncio.StreamWriter | None, record: bytes) -> None:
    """Writes all; a command need not read it."""
    assert stdin is not None  # noqa: S101 - asked for above.
    with suppress(BrokenPipeError, ConnectionResetError):
        stdin.write(record + b"\n")
        await stdin.drain()
    stdin.close()


async def _tail(stdout: asyncio.StreamReader | None) -> str:
    """Reads all, keeps the end."""
    assert stdout is not None  # noqa: S101 - asked for above.
    kept = b""
    while data := await stdout.read(1 << 16):
        kept = (kept + data)[-OUTPUT_BYTES:]
    return kept.decode("utf-8", "replace").strip()
