"""Starts a server whose road is recorded, and tells it when to begin and to end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Road:
    """Files in whose functions a flow `run`, and those whose functions `carry` an update's values.

    `called` are the functions, `file:function`, in the order of their first calls.
    """

    run: list[str]
    carry: list[str]
    called: list[str]


class TracedServer:
    """A running `traced_server`; `lines` is what it prints."""

    def __init__(self, process: int, lines: IO[str]) -> None:
        self._process = process
        self._lines = lines
        started = json.loads(self._line())
        self.url: str = started["url"]
        self.owner_link: str = started["owner_link"]

    def begin(self) -> None:
        """Records from now on."""
        os.kill(self._process, signal.SIGUSR1)
        self._line()

    def end(self) -> Road:
        """What was recorded since `begin`."""
        os.kill(self._process, signal.SIGUSR2)
        return Road(**json.loads(self._line()))

    def _line(self) -> str:
        line = self._lines.readline()
        if not line:
            raise RuntimeError("The traced server ended; its log is above.")
        return line


@contextmanager
def serving(folder: Path, *settings: str) -> Iterator[TracedServer]:
    """A server of the task `tiny` in `folder`/tasks, with `settings` over its task file."""
    words = ["--port", "0", "--json", "--data-dir", str(folder / "data"), "--tasks", str(folder / "tasks")]
    words += [word for setting in settings for word in ("--set", f"tiny.{setting}")]
    command = [sys.executable, "-m", "scripts.roads.traced_server", "serve", *words]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    log = folder / "log"
    with (
        log.open("w") as errors,
        subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True
        ) as process,
    ):
        try:
            if process.stdout is not None:
                yield TracedServer(process.pid, process.stdout)
        except Exception:
            print(log.read_text("utf-8"), file=sys.stderr)
            raise
        finally:
            process.terminate()
