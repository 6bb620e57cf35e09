"""Starts programs of this repository quickly as real processes, with a log for failed tests."""

from __future__ import annotations

import os
import select
import signal
import subprocess
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Self

from tests.support.programs import fork_server_pool
from tests.support.programs.fork_server_pool import Preload
from tests.support.programs.forked_python import Program, answer, ask
from tests.support.timeouts import PATIENCE

__all__ = ["Preload", "Process", "run"]


def run(
    preload: Preload,
    module: str,
    *arguments: str | Path,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
    seconds: float = PATIENCE,
) -> subprocess.CompletedProcess[str]:
    """Runs `python -m module *arguments` to its end; `environment` is added to the current one.

    Raises subprocess.TimeoutExpired, after killing it, if it does not end within `seconds`.
    """
    with TemporaryDirectory(prefix="minga-run-") as temporary:
        log, output = Path(temporary) / "errors", Path(temporary) / "output"
        process = Process(
            preload,
            module,
            *arguments,
            log=log,
            output=output,
            environment={**os.environ, **(environment or {})},
            folder=folder,
        )
        try:
            code = process.wait(seconds)
        finally:
            process.kill()
        return subprocess.CompletedProcess(process.args, code, output.read_text(), log.read_text())


class Process:
    """A forked process with the part of `subprocess.Popen` that tests use."""

    def __init__(
        self,
        preload: Preload,
        module: str,
        *arguments: str | Path,
        log: Path,
        output: Path | None = None,
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
    ) -> None:
        """Starts `python -m module *arguments`; standard error is appended to `log`.

        Standard output is appended to `output`, or without one goes into the pipe `stdout`.
        """
        self.args = [module, *map(str, arguments)]
        self.returncode: int | None = None
        self.stdout: IO[bytes] | None = None
        environment = dict(os.environ if environment is None else environment)
        program = Program(module, self.args[1:], str(folder or Path.cwd()), environment)
        with ExitStack() as stack:
            nothing = stack.enter_context(Path(os.devnull).open("rb"))
            errors = stack.enter_context(log.open("ab"))
            if output is None:
                reading, writing = os.pipe()
                self.stdout = os.fdopen(reading, "rb")
                printed = stack.enter_context(os.fdopen(writing, "wb"))
            else:
                printed = stack.enter_context(output.open("ab"))
            streams = [stream.fileno() for stream in (nothing, printed, errors)]
            self._connection = ask(str(fork_server_pool.folder() / preload.name), program, streams)
        self.pid = answer(self._connection)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.stdout is not None:
            self.stdout.close()
        self.wait()

    def poll(self) -> int | None:
        """Returns its exit code (negative for a signal), or None while it runs."""
        if self.returncode is None and select.select([self._connection], [], [], 0)[0]:
            self._end()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Waits for its exit code. Raises subprocess.TimeoutExpired after `timeout` seconds."""
        if self.returncode is None:
            if not select.select([self._connection], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
            self._end()
        assert self.returncode is not None
        return self.returncode

    def _end(self) -> None:
        with self._connection:
            self.returncode = answer(self._connection)

    def send_signal(self, number: signal.Signals) -> None:
        """Signals it, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Sends SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Sends SIGKILL."""
        self.send_signal(signal.SIGKILL)
