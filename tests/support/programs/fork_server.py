"""Forks real processes of Python programs from a process that has imported their modules.

A program such as `python -m backend serve` spends 1.5 CPU seconds on imports, one that trains with TensorFlow
5 and more. A fork server imports once; each program is then its own process within milliseconds, with its own
environment, folder and standard streams, and can be signalled or killed as any other.

Run as `python -m tests.support.programs.fork_server FD EXECUTABLE MODULE...`: it imports the modules, then
serves each connection to the listening Unix socket FD. A connection carries one request, JSON with three
standard streams; the answers are the process' id and, when it has ended, its exit status. A program whose
client is gone is killed. `sys.executable` of forked processes is EXECUTABLE. The fork server ends with its
standard input, and kills all programs then.
"""

from __future__ import annotations

import atexit
import gc
import os
import runpy
import select
import signal
import socket
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from tests.support.programs.forked_python import LONGEST_REQUEST, STATUS, Program

_STREAMS = (0, 1, 2)
# Blocked in a forked process until it handles them as a program does.
_HELD = (signal.SIGINT, signal.SIGTERM)


def main(words: Sequence[str]) -> None:
    """Serves until its input ends."""
    listener = socket.socket(fileno=int(words[0]))
    sys.executable = words[1]
    with _silence(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for module in words[2:]:
            import_module(module)
    # Frozen objects are never collected, so their memory stays shared with the forked processes.
    gc.collect()
    gc.freeze()
    ForkServer(listener).serve()


@contextmanager
def _silence() -> Iterator[None]:
    """Silences standard error, to which TensorFlow's libraries write during import; exceptions pass."""
    errors, nothing = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 2)
    os.close(nothing)
    try:
        yield
    finally:
        os.dup2(errors, 2)
        os.close(errors)


class ForkServer:
    """Forks a process for each connection to a listening socket."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener, self._asked = listener, listener.fileno()
        self._clients: dict[int, socket.socket] = {}
        # The requested process by the connection's descriptor.
        self._pids: dict[int, int] = {}
        self._ended, self._wakeup = os.pipe()
        for end in (self._ended, self._wakeup):
            os.set_blocking(end, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.set_wakeup_fd(self._wakeup, warn_on_full_buffer=False)

    def serve(self) -> None:
        """Serves until the standard input ends."""
        while True:
            ready = select.select([0, self._asked, self._ended, *self._clients], [], [])[0]
            if 0 in ready:
                for pid in self._pids.values():
                    os.kill(pid, signal.SIGKILL)
                return
            if self._ended in ready:
                os.read(self._ended, 4096)
                self._reap()
            for descriptor in [each for each in ready if each in self._clients]:
                self._hear(descriptor)
            if self._asked in ready:
                client = self._listener.accept()[0]
                self._clients[client.fileno()] = client

    def _hear(self, descriptor: int) -> None:
        client = self._clients[descriptor]
        try:
            request, streams, *_ = socket.recv_fds(client, LONGEST_REQUEST, len(_STREAMS))
        except ConnectionResetError:
            request, streams = b"", []
        if not request:
            if pid := self._pids.get(descriptor):
                os.kill(pid, signal.SIGKILL)
            self._forget(descriptor)
            return
        signal.pthread_sigmask(signal.SIG_BLOCK, _HELD)
        pid = os.fork()
        if pid == 0:
            self._close()
            _become(Program.decode(request), streams)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _HELD)
        for stream in streams:
            os.close(stream)
        self._pids[descriptor] = pid
        _tell(client, pid)

    def _reap(self) -> None:
        """Sends clients the exit status of their ended processes: negative for a signal."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            for descriptor in [each for each, other in self._pids.items() if other == pid]:
                _tell(self._clients[descriptor], os.waitstatus_to_exitcode(status))
                self._forget(descriptor)

    def _forget(self, descriptor: int) -> None:
        self._pids.pop(descriptor, None)
        self._clients.pop(descriptor).close()

    def _close(self) -> None:
        """Closes all of the server's descriptors in a forked process."""
        signal.set_wakeup_fd(-1)
        self._listener.close()
        for client in self._clients.values():
            client.close()
        for end in (self._ended, self._wakeup):
            os.close(end)


def _tell(client: socket.socket, number: int) -> None:
    with suppress(OSError):  # The client is gone.
        client.send(STATUS.pack(number))


def _become(program: Program, streams: Sequence[int]) -> None:
    """Runs `program` in the process that was just forked. Does not return."""
    code = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for number, stream in zip(_STREAMS, streams, strict=True):
            os.dup2(stream, number)
            os.close(stream)
        os.chdir(program.folder)
        os.environ.clear()
        os.environ.update(program.environment)
        sys.argv = [program.name, *program.arguments]
        # A new program has listed the folders on the path; after confinement it could no longer do that.
        find_spec("no_module_has_this_name")
        if "PYTHONUNBUFFERED" in program.environment:
            sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # It is a TextIOWrapper.
        code = _run(program)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _run(program: Program) -> int:
    """Runs a module or script and the interpreter's exit handlers; returns the exit code."""
    code = 0
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _HELD)
        if program.is_module:
            runpy.run_module(program.name, run_name="__main__", alter_sys=True)
        else:
            sys.path.insert(0, str(Path(program.name).parent))
            runpy.run_path(program.name, run_name="__main__")
    except SystemExit as ending:
        if isinstance(ending.code, str):
            print(ending.code, file=sys.stderr)
        code = ending.code if isinstance(ending.code, int) else int(ending.code is not None)
    except KeyboardInterrupt:
        # The interpreter does the same, so that its parent sees the signal.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    threading._shutdown()  # type: ignore[attr-defined]  # What Py_Finalize does first: wait for threads.
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    return code


if __name__ == "__main__":
    main(sys.argv[1:])
