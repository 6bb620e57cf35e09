"""The fork servers of a run, shared by all its processes; each starts on its first request.

The first process that needs them owns them, for itself and for its children: a lane, pytest with its workers,
or a single process. The others find their folder in the environment.
"""

from __future__ import annotations

import atexit
import os
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
from enum import Enum
from functools import cache
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from threading import Thread

from tests.support.programs import forked_python

FOLDER = "MINGA_TEST_FORKS"
# The name of the interpreter's replacement in the folder.
PYTHON = "python"
WAITING = 128


class Preload(Enum):
    """The modules that a fork server has imported before it forks."""

    SERVER = ("backend.commands.serve", "alembic.command")
    ACCOUNTANT = (
        "backend.server.privacy.epsilon",
        "dp_accounting",
        "dp_accounting.pld.privacy_loss_mechanism",
        "dp_accounting.pld.privacy_loss_distribution",
    )
    CONVERTER = (
        "tests.support.programs.quiet_tensorflow",
        "converter.__main__",
        "keras",
        "converter.bundle.bundle_writer",
        "PIL.Image",
        "pyarrow.csv",
        "pyarrow.parquet",
    )
    # Without this repository's modules, for a program that patches them before others import them.
    TENSORFLOW = ("tensorflow", "aiortc", "anyio._backends._asyncio", "httpx", "httpcore", "h11", "uvloop")
    PEER = (
        *TENSORFLOW,
        "backend.commands.peer",
        "backend.peer.session.trust_store",
        "backend.peer.data.data_requirements",
        "backend.peer.training.evaluator",
        "backend.peer.session.join",
        "backend.peer.mesh.session",
        "backend.peer.session.preemption",
        "backend.peer.session.progress",
        "backend.peer.units.options",
    )


def folder() -> Path:
    """Returns the folder of the fork servers' sockets; makes it on first use."""
    if FOLDER not in os.environ:
        own()
    return Path(os.environ[FOLDER])


def executable() -> str:
    """Returns the replacement of the interpreter that has programs forked."""
    return str(folder() / PYTHON)


@cache
def own() -> None:
    """Makes the folder for this process and its children; it is removed with this process."""
    where = Path(tempfile.mkdtemp(prefix="minga-forks-"))
    words = [sys.executable, "-I", "-S", forked_python.__file__, str(where)]
    (where / PYTHON).write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n', "utf-8")
    (where / PYTHON).chmod(0o755)
    waiting = _Waiting(where)
    Thread(target=waiting.start_those_asked, daemon=True).start()
    os.environ[FOLDER] = str(where)
    atexit.register(waiting.stop, os.getpid())


class _Waiting:
    """Listens in place of each fork server until its first request."""

    def __init__(self, where: Path) -> None:
        self._where = where
        self._selector = DefaultSelector()
        self._started: list[subprocess.Popen[bytes]] = []
        for preload in Preload:
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            listener.bind(str(where / preload.name))
            listener.listen(WAITING)
            self._selector.register(listener, EVENT_READ, preload)

    def start_those_asked(self) -> None:
        """Starts fork servers on request until all run."""
        while self._selector.get_map():
            for key, _ in self._selector.select():
                self._selector.unregister(key.fileobj)
                assert isinstance(key.fileobj, socket.socket)
                with key.fileobj as listener:
                    self._start(key.data, listener.fileno())

    def _start(self, preload: Preload, descriptor: int) -> None:
        module = "tests.support.programs.fork_server"
        words = [sys.executable, "-m", module, str(descriptor), str(self._where / PYTHON), *preload.value]
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
        # It ends with its input, and therefore with this process, however that ends.
        self._started.append(
            subprocess.Popen(words, pass_fds=[descriptor], env=environment, stdin=subprocess.PIPE)
        )

    def stop(self, owner: int) -> None:
        """Ends the fork servers and their forked processes; does nothing in a fork of the `owner`."""
        if os.getpid() != owner:
            return
        shutil.rmtree(self._where, ignore_errors=True)
        for process in self._started:
            process.communicate()
