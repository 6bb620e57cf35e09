"""Fork real processes of Python programs from one that has imported what they need.

A program such as `python -m backend serve` spends 1.5 CPU seconds on imports, one that trains with
TensorFlow 5. A fork server imports once; each program is then a process of its own within milliseconds, with
its own environment, folder and standard streams, and can be signalled or killed as any other.

Run as `python -m tests.support.fork_server FD MODULE...`: imports the modules, then serves requests on the
Unix socket FD until its other end is closed. A request is JSON beside four file descriptors: three standard
streams, and a pipe on which the process' id is written and, when it has ended, its exit status.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import runpy
import select
import signal
import socket
import struct
import sys
import threading
import traceback
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module

LONGEST_REQUEST = 1 << 20
STATUS = struct.Struct("<i")
_STREAMS = (0, 1, 2)


@dataclass(frozen=True)
class Program:
    """`python -m module *arguments`, run in `folder` with `environment` and no other variables."""

    module: str
    arguments: Sequence[str]
    folder: str
    environment: Mapping[str, str]

    def encode(self) -> bytes:
        """The request's JSON."""
        return json.dumps([self.module, list(self.arguments), self.folder, dict(self.environment)]).encode()

    @classmethod
    def decode(cls, request: bytes) -> Program:
        """Of what `encode` made."""
        return cls(*json.loads(request))


def main(words: Sequence[str]) -> None:
    """Serves requests until nobody is left to make any; its processes live on."""
    requests = socket.socket(fileno=int(words[0]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for module in words[1:]:
            import_module(module)
    # What lies in memory now is never collected, so that it stays shared with the forked processes.
    gc.collect()
    gc.freeze()
    _serve(requests)


def _serve(requests: socket.socket) -> None:
    ended, wakeup = os.pipe()
    for end in (ended, wakeup):
        os.set_blocking(end, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)
    pipes: dict[int, int] = {}
    while True:
        ready = select.select([requests.fileno(), ended], [], [])[0]
        if ended in ready:
            os.read(ended, 4096)
            _reap(pipes)
        if requests.fileno() in ready:
            request, descriptors, *_ = socket.recv_fds(requests, LONGEST_REQUEST, len(_STREAMS) + 1)
            if not request:
                return
            *streams, pipe = descriptors
            pid = os.fork()
            if pid == 0:
                requests.close()
                for other in (ended, wakeup, pipe, *pipes.values()):
                    os.close(other)
                _become(Program.decode(request), streams)
            for stream in streams:
                os.close(stream)
            pipes[pid] = pipe
            _tell(pipe, pid)


def _reap(pipes: dict[int, int]) -> None:
    """Writes the exit status of each process that has ended on its pipe: negative for a signal."""
    for pid in list(pipes):
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            pipe = pipes.pop(pid)
            _tell(pipe, os.waitstatus_to_exitcode(status))
            os.close(pipe)


def _tell(pipe: int, number: int) -> None:
    try:
        os.write(pipe, STATUS.pack(number))
    except BrokenPipeError:
        # Nobody waits for it any more.
        return


def _become(program: Program, streams: Sequence[int]) -> None:
    """Runs `program` in the process that was just forked. Does not return."""
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for number, stream in zip(_STREAMS, streams, strict=True):
            os.dup2(stream, number)
            os.close(stream)
        os.chdir(program.folder)
        os.environ.clear()
        os.environ.update(program.environment)
        sys.argv = [program.module, *program.arguments]
        if "PYTHONUNBUFFERED" in program.environment:
            sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # It is a TextIOWrapper.
        code = _run(program.module)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _run(module: str) -> int:
    """The exit code of a module run as a program, with what the interpreter does at its end."""
    code = 0
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as ending:
        if isinstance(ending.code, str):
            print(ending.code, file=sys.stderr)
        code = ending.code if isinstance(ending.code, int) else int(ending.code is not None)
    except KeyboardInterrupt:
        # As the interpreter does: whoever waits sees the signal.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    threading._shutdown()  # type: ignore[attr-defined]  # What Py_Finalize does first: wait for threads.
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    return code


if __name__ == "__main__":
    main(sys.argv[1:])
