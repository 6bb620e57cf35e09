"""Child processes of the demo, each in a process group of its own, so that Ctrl-C reaches only the demo."""

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
        self._complaints: deque[str] = deque(maxlen=20)
        self._news: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self._readers = [asyncio.create_task(self._read_news()), asyncio.create_task(self._read_complaints())]

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
        """Its first report of `event`. Raises DemoError when it ends before, or takes longer."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while (news := await self._news.get()) is not None:
                    if news.get("event") == event:
                        return news
                await self._process.wait()
                raise DemoError(self.obituary())
        raise DemoError(f"{self.name} did not come up within {seconds:.0f} s. {self._last_words()}".strip())

    async def wait(self) -> int:
        """Its exit code."""
        return await self._process.wait()

    def obituary(self) -> str:
        """What to say when it ended by itself."""
        return f"{self.name} ended with code {self.code}. {self._last_words()}".strip()

    async def stop(self) -> None:
        """Ends it in good order, or after PATIENCE_SECONDS with its whole group at once."""
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

    def _last_words(self) -> str:
        return self._complaints[-1] if self._complaints else ""

    async def _read_news(self) -> None:
        assert self._process.stdout is not None  # noqa: S101 - it is a pipe.
        async for line in self._process.stdout:
            try:
                self._news.put_nowait(json.loads(line))
            except ValueError:
                self._complaints.append(line.decode(errors="replace").strip())
        self._news.put_nowait(None)

    async def _read_complaints(self) -> None:
        assert self._process.stderr is not None  # noqa: S101 - it is a pipe.
        async for line in self._process.stderr:
            if text := line.decode(errors="replace").strip():
                self._complaints.append(text)
