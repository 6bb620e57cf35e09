"""Start programs of this repository as real processes, quickly, with a log that a failed test keeps."""

from __future__ import annotations

import atexit
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from enum import Enum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Self

from tests.support.fork_server import STATUS, Program
from tests.support.waiting import PATIENCE


class Preload(Enum):
    """What a fork server has imported before it forks."""

    SERVER = ("backend.commands.serve", "alembic.command")
    CONVERTER = ("tests.support.quiet_converter", "converter.__main__", "keras", "converter.bundle")
    # Without this repository's modules, for a program that changes them before others import them.
    TENSORFLOW = ("tensorflow", "aiortc", "anyio._backends._asyncio", "httpx", "httpcore", "h11", "uvloop")
    PEER = (
        *TENSORFLOW,
        "backend.commands.peer",
        "backend.peer.acquaintances",
        "backend.peer.bringing",
        "backend.peer.joining",
        "backend.peer.mesh.session",
        "backend.peer.preemption",
        "backend.peer.progress",
        "backend.peer.units.taking",
    )


class ForkServer:
    """A process that forks programs; started with the first one, ended with this process."""

    def __init__(self, preload: Preload) -> None:
        ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        words = [sys.executable, "-m", "tests.support.fork_server", str(its.fileno()), *preload.value]
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
        with its:
            self._process = subprocess.Popen(
                words, pass_fds=[its.fileno()], env=environment, stdin=subprocess.DEVNULL
            )
        self._requests = ours

    def fork(self, program: Program, streams: Sequence[int]) -> int:
        """Starts `program` with these standard streams; the pipe that its id and exit status come on."""
        status, written = os.pipe()
        try:
            socket.send_fds(self._requests, [program.encode()], [*streams, written])
        finally:
            os.close(written)
        return status

    def stop(self) -> None:
        """Ends it; what it forked lives on."""
        self._requests.close()
        self._process.wait()


_fork_servers: dict[Preload, ForkServer] = {}


def prepare(preload: Preload) -> None:
    """Starts what forks programs with `preload`, which the first of them would otherwise do."""
    _fork_server(preload)


def _fork_server(preload: Preload) -> ForkServer:
    if preload not in _fork_servers:
        _fork_servers[preload] = ForkServer(preload)
        atexit.register(_fork_servers[preload].stop)
    return _fork_servers[preload]


def run(
    preload: Preload,
    module: str,
    *arguments: str | Path,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """`python -m module *arguments` at its end, which comes by itself. `environment` adds to the present one.

    Raises subprocess.TimeoutExpired, after killing it, where the end does not come.
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
            code = process.wait(PATIENCE)
        finally:
            process.kill()
        return subprocess.CompletedProcess(process.args, code, output.read_text(), log.read_text())


class Process:
    """A forked process, with what tests use of `subprocess.Popen`."""

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
        """Starts `python -m module *arguments`. Standard error goes to the end of `log`.

        Standard output goes to the end of `output`, or without one into the pipe `stdout`.
        """
        self.args = [module, *map(str, arguments)]
        self.returncode: int | None = None
        self.stdout: IO[bytes] | None = None
        environment = os.environ if environment is None else environment
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
            self._status = _fork_server(preload).fork(program, streams)
        self.pid = self._read_status()

    def _read_status(self) -> int:
        told = os.read(self._status, STATUS.size)
        if not told:
            raise RuntimeError(f"The fork server ended while it had {' '.join(self.args)} in its care.")
        return int(STATUS.unpack(told)[0])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.stdout is not None:
            self.stdout.close()
        self.wait()

    def poll(self) -> int | None:
        """Its exit code (negative for a signal), or None while it runs."""
        if self.returncode is None and select.select([self._status], [], [], 0)[0]:
            self._end()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code, once it has ended. Raises subprocess.TimeoutExpired after `timeout` seconds."""
        if self.returncode is None:
            if not select.select([self._status], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
            self._end()
        assert self.returncode is not None
        return self.returncode

    def _end(self) -> None:
        self.returncode = self._read_status()
        os.close(self._status)

    def send_signal(self, number: signal.Signals) -> None:
        """Signals it, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Asks it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Ends it at once."""
        self.send_signal(signal.SIGKILL)
