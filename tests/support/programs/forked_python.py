"""Stands for the Python interpreter where programs start others, and has them forked if possible.

`forked_python.py FOLDER WORDS...` is `python WORDS...`. FOLDER holds the sockets of the fork servers, each
named after its `Preload`. Programs without a fork server are run by the interpreter itself. It is started
often, without site packages, and therefore imports little.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import struct
import sys

STATUS = struct.Struct("<i")
LONGEST_REQUEST = 1 << 20
# The interval in seconds for checking that the parent process is alive.
LOOK = 0.5
# The preload by a command's first words; the longest match counts.
PRELOADS = {
    ("-m", "backend"): "SERVER",
    ("-m", "backend", "build"): "CONVERTER",
    ("-m", "backend", "peer"): "PEER",
    ("-m", "backend.peer.training.evaluator"): "PEER",
    ("-m", "backend.server.privacy.epsilon"): "ACCOUNTANT",
    ("-m", "converter"): "CONVERTER",
    ("-m", "converter.sandbox.confined_process"): "CONVERTER",
    ("-m", "converter.export"): "CONVERTER",
    ("-m", "converter.dry_run"): "CONVERTER",
    ("-m", "converter.plan_trial"): "CONVERTER",
    ("-m", "tests.support.tasks.small_model"): "CONVERTER",
}
SCRIPT = "build.py"


class Program:
    """`python -m name *arguments` or, without -m, a script, in `folder` and with this environment only."""

    def __init__(
        self,
        name: str,
        arguments: list[str],
        folder: str,
        environment: dict[str, str],
        is_module: bool = True,
    ) -> None:
        self.name, self.arguments, self.folder = name, arguments, folder
        self.environment, self.is_module = environment, is_module

    def encode(self) -> bytes:
        """Returns the request's JSON."""
        words = [self.name, self.arguments, self.folder, self.environment, self.is_module]
        return json.dumps(words).encode()

    @classmethod
    def decode(cls, request: bytes) -> Program:
        """Returns the program that `encode` encoded."""
        return cls(*json.loads(request))


def ask(path: str, program: Program, streams: list[int]) -> socket.socket:
    """Has the fork server at `path` run `program`; id and exit status come on the returned connection."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        connection.connect(path)
        socket.send_fds(connection, [program.encode()], streams)
    except BaseException:
        connection.close()
        raise
    return connection


def answer(connection: socket.socket) -> int:
    """Returns the next answer. Raises ConnectionError if the fork server is gone."""
    told = connection.recv(STATUS.size)
    if not told:
        raise ConnectionResetError("The fork server ended while it had a process in its care.")
    return int(STATUS.unpack(told)[0])


def chosen(words: list[str]) -> tuple[str, Program] | None:
    """Returns the preload of `python *words` and the program; None if it runs without."""
    words = [word for word in words if word != "-P"]
    folder, environment = os.getcwd(), dict(os.environ)  # noqa: PTH109 - pathlib takes long to import.
    for length in (3, 2):
        if preload := PRELOADS.get(tuple(words[:length])):
            return preload, Program(words[1], words[2:], folder, environment)
    if words and os.path.basename(words[0]) == SCRIPT:  # noqa: PTH119 - as above.
        return "CONVERTER", Program(words[0], words[1:], folder, environment, is_module=False)
    return None


def follow(connection: socket.socket) -> int:
    """Returns the process' exit status; forwards signals to it, and ends it with this one or its parent."""
    pid, parent = answer(connection), os.getppid()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, lambda number, _: os.kill(pid, number))
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    while not select.select([connection], [], [], LOOK)[0]:
        if os.getppid() != parent:
            return 1
    return answer(connection)


def main(words: list[str]) -> None:
    """Runs the rest of `words` as the interpreter would. Does not return."""
    found = chosen(words[1:])
    if found is None:
        os.execv(sys.executable, [sys.executable, *words[1:]])  # noqa: S606 - the interpreter itself
    status = follow(ask(f"{words[0]}/{found[0]}", found[1], [0, 1, 2]))
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


if __name__ == "__main__":
    main(sys.argv[1:])
