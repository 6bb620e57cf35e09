"""Runs a real server in its own process, and reads the system's counters of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.support.dense_task import ROOT

MIB = 1 << 20
# All clients come from one address at the same time; on a busy machine joining takes them long.
NO_LIMITS = {
    "MINGA_HELLO_SECONDS": "600",
    "MINGA_REQUEST_SECONDS": "600",
    "MINGA_MAX_CLIENTS": "15000",
    "MINGA_MAX_CONNECTIONS": "15000",
    "MINGA_MAX_CONNECTIONS_PER_ADDRESS": "15000",
    "MINGA_JOINS_PER_MINUTE": "1000000",
    "MINGA_REQUESTS_PER_MINUTE": "1000000",
}


@dataclass(frozen=True)
class Usage:
    """Counters of the server's process at one time: clock and processor seconds, bytes of memory."""

    at: float
    user: float
    system: float
    resident: int
    peak: int

    @property
    def processor(self) -> float:
        """Returns the processor seconds."""
        return self.user + self.system


def seconds(process: int) -> tuple[float, float]:
    """Returns the user and system seconds of `process`; works until it is waited for."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    ticks = os.sysconf("SC_CLK_TCK")
    return int(fields[11]) / ticks, int(fields[12]) / ticks


def usage(process: int) -> Usage:
    """Returns the system's counters for `process`, including all its threads.

    Its `peak` is its own; that of `getrusage` begins with the memory of the process which started it.
    """
    user, system = seconds(process)
    status = dict(
        line.split(":", 1) for line in Path(f"/proc/{process}/status").read_text().splitlines() if ":" in line
    )
    resident, peak = (1024 * int(status[name].split()[0]) for name in ("VmRSS", "VmHWM"))
    return Usage(time.monotonic(), user, system, resident, peak)


@contextmanager
def serving(folder: Path, **limits: int) -> Iterator[tuple[int, str]]:
    """Serves `folder`/tasks from `folder`/data; yields the process and its address as host:port.

    `limits` are settings, such as `idle_seconds`, in addition to NO_LIMITS.
    """
    command = [sys.executable, "-m", "backend", "serve", "--port", "0", "--json"]
    command += ["--data-dir", str(folder / "data"), "--tasks", str(folder / "tasks")]
    settings = {f"MINGA_{name.upper()}": str(value) for name, value in limits.items()}
    environment = {**os.environ, **NO_LIMITS, **settings}
    server = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        assert server.stdout is not None
        listening = json.loads(server.stdout.readline())
        assert not listening["problems"], listening["problems"]
        yield server.pid, listening["url"].removeprefix("http://")
    finally:
        server.terminate()
        server.communicate()
