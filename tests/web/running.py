"""A real server process."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from tests.waiting import PATIENCE


def free_port() -> int:
    """One of this machine that nobody listens at now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Server:
    """`minga serve` with a data folder of its own, on a free port. `log` takes its standard error."""

    def __init__(self, tasks: Path, data: Path, *flags: str, log: Path | None = None) -> None:
        self._log = log
        self._command = [sys.executable, "-m", "backend", "serve", "--port", "0", "--json"]
        self._command += ["--data-dir", str(data), "--tasks", str(tasks), *flags]
        self.url = ""
        self.report: dict[str, Any] = {}
        self.process: subprocess.Popen[bytes]

    def launch(self) -> None:
        """Starts it."""
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        with ExitStack() as stack:
            log = stack.enter_context(self._log.open("ab")) if self._log else None
            self.process = subprocess.Popen(
                self._command, stdout=subprocess.PIPE, stderr=log, env=environment
            )

    def start(self) -> None:
        """Starts it and waits until it listens."""
        self.launch()
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the server ended before it listened"
        self.report = json.loads(line)
        self.url = self.report["url"]

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Ends it; its exit code."""
        self.process.send_signal(number)
        code = self.process.wait(PATIENCE)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code

    def table(self, path: str) -> list[dict[str, str]]:
        """The rows of a CSV file at `path`."""
        with urlopen(self.url + path, timeout=PATIENCE) as answer:
            return list(csv.DictReader(io.StringIO(answer.read().decode())))

    def get(self, path: str) -> Any:
        """JSON at `path`."""
        with urlopen(
            Request(self.url + path, headers={"Accept": "application/json"}), timeout=PATIENCE
        ) as answer:
            return json.loads(answer.read())


@contextmanager
def running(tasks: Path, data: Path, *flags: str, log: Path | None = None) -> Iterator[Server]:
    """A server that is running, and is ended at the end."""
    server = Server(tasks, data, *flags, log=log)
    server.start()
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.stop()
