"""Runs child processes of the demo, each in its own process group so that Ctrl-C reaches only the demo."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections import deque
from contextlib import suppress
from typing import Any, Self

from backend.errors import DemoError

PATIENCE_SECONDS = 25.0


class Child:
    """A Python module that runs until it is stopped and reports in JSON lines. Owned by the demo."""

    def __init__(self, name: str, process: Process) -> None:
        self.name = name
        self._process = process
        self._errors: deque[str] = deque(maxlen=20)
        self._reports: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self._readers = [asyncio.create_task(self._read_reports()), asyncio.create_task(self._read_errors())]

    @classmethod
    async def start(cls, name: str, module: str, *words: str) -> Self:
        """Starts `python -m module words...`."""
        command = (sys.executable, "-m", module, *words)
        process = await asyncio.create_subprocess_exec(
            *command, stdin=DEVNULL, stdout=PIPE, stderr=PIPE, start_new_session=True
        )
        return cls(name, process)

    @property
    def code(self) -> int | None:
        """Exit code, None while it runs."""
        return self._process.returncode

    async def wait_for(self, event: str, seconds: float) -> dict[str, Any]:
        """Returns the first report of `event`. Raises DemoError if the process ends first or takes longer."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while (report := await self._reports.get()) is not None:
                    if report.get("event") == event:
                        return report
                await self._process.wait()
                raise DemoError(self.exit_message())
        raise DemoError(f"{self.name} did not start within {seconds:.0f} s. {self._last_error()}".strip())

    async def wait(self) -> int:
        """Waits for the end of the process and returns its exit code."""
        return await self._process.wait()

    def exit_message(self) -> str:
        """Returns the error message for a process that ended by itself."""
        return f"{self.name} ended with code {self.code}. {self._last_error()}".strip()

    async def stop(self) -> None:
        """Terminates the process; after PATIENCE_SECONDS kills its whole group."""
        with suppress(ProcessLookupError):
            if self.code is None:
                self._process.terminate()
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_SECONDS):
                await self._process.wait()
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        await self._process.wait()
        await asyncio.wait(self._readers, timeout=1.0)
        for reader in self._readers:
            reader.cancel()

    def _last_error(self) -> str:
        return self._errors[-1] if self._errors else ""

    async def _read_reports(self) -> None:
        assert self._process.stdout is not None  # noqa: S101 - it is a pipe.
        async for line in self._process.stdout:
            try:
                self._reports.put_nowait(json.loads(line))
            except ValueError:
                self._errors.append(line.decode(errors="replace").strip())
        self._reports.put_nowait(None)

    async def _read_errors(self) -> None:
        assert self._process.stderr is not None  # noqa: S101 - it is a pipe.
        async for line in self._process.stderr:
            if text := line.decode(errors="replace").strip():
                self._errors.append(text)
