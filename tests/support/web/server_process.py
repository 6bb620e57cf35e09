"""Runs a real server process."""

from __future__ import annotations

import csv
import io
import json
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from tests.support.plugins import evidence
from tests.support.programs.program_process import Preload, Process
from tests.support.timeouts import PATIENCE


def free_port() -> int:
    """Returns a port of this machine that no process listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Server:
    """`minga serve` with its own data folder, on a free port; `log` takes its standard error."""

    def __init__(self, tasks: Path, data: Path, *flags: str, log: Path | None = None) -> None:
        self._log = log
        self.words = ["serve", "--port", "0", "--json", "--data-dir", str(data)]
        self.words += ["--tasks", str(tasks), *flags]
        self.url = ""
        self.report: dict[str, Any] = {}
        self.process: Process

    def launch(self) -> None:
        """Starts the process."""
        log = self._log or evidence.log_file("server")
        self.process = Process(Preload.SERVER, "backend", *self.words, log=log)

    def start(self) -> None:
        """Starts it and waits until it listens."""
        self.launch()
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the server ended before it listened"
        self.report = json.loads(line)
        self.url = self.report["url"]

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Signals it to end; returns its exit code."""
        self.process.send_signal(number)
        # One that a test suspended takes it now.
        self.process.send_signal(signal.SIGCONT)
        code = self.process.wait(PATIENCE)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code

    def measured_versions(self, task: str) -> list[dict[str, Any]]:
        """Returns the versions of `task` once the newest one is measured."""
        until = time.monotonic() + PATIENCE
        while True:
            versions: list[dict[str, Any]] = self.get(f"/api/tasks/{task}/versions")["versions"]
            newest = max(versions, key=lambda version: int(version["version"]))
            if newest["evaluation"] is not None:
                return versions
            assert time.monotonic() < until, f"version {newest['version']} is not measured"
            time.sleep(0.1)

    def table(self, path: str) -> list[dict[str, str]]:
        """Returns the rows of a CSV file at `path`."""
        with urlopen(self.url + path, timeout=PATIENCE) as answer:
            return list(csv.DictReader(io.StringIO(answer.read().decode())))

    def get(self, path: str) -> Any:
        """Returns the JSON at `path`."""
        with urlopen(
            Request(self.url + path, headers={"Accept": "application/json"}), timeout=PATIENCE
        ) as answer:
            return json.loads(answer.read())


@contextmanager
def running(tasks: Path, data: Path, *flags: str, log: Path | None = None) -> Iterator[Server]:
    """Yields a running server, and stops it at the end."""
    server = Server(tasks, data, *flags, log=log)
    server.start()
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.stop()
