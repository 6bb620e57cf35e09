"""Runs work on uploaded files in a sandboxed process with limited resources."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NoReturn

from backend.errors import BundleError, CancelledError, DataError, OverQuotaError, TaskFileError
from backend.server.sandbox.work_folder import plain_text, tree_bytes

TEXT_BYTES = 1 << 16
_ENVIRONMENT = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "SYSTEMROOT")
_POLL_SECONDS = 0.1
# Prefix of the lines on standard output by which a process reports its progress.
_PROGRESS = "doing: "
_LINE_CHARACTERS, _LINES = 300, 500
# Prefix of the lines on standard error by which a process says what its sandbox lacks. Each sentence is
# logged once, and only so many: a process that was taken over says what it likes, but honest ones came first.
_LACKING, _MOST_LACKING = "sandbox: ", 8
_lacking: set[str] = set()

Tell = Callable[[str], None]
Cancelled = Callable[[], bool]
# Called with the bytes that a process takes on the disk; raises MingaError when there is no room for them.
Room = Callable[[int], None]


def silent(_text: str) -> None:
    """Discards a progress message."""


def never() -> bool:
    """Returns False: the process is never cancelled."""
    return False


def endless(_bytes: int) -> None:
    """Raises nothing: the process may fill the disk."""


@dataclass(frozen=True)
class Supervision:
    """Watches a process: `tell` gets its progress, `cancelled` says whether to kill it.

    `room` gets the bytes that it takes on the disk, and raises to end it.
    """

    tell: Tell = silent
    cancelled: Cancelled = never
    room: Room = endless


UNSUPERVISED = Supervision()


@dataclass(frozen=True)
class ProcessLimits:
    """Limits of one process: seconds of wall and CPU time, bytes of address space and of one file."""

    wall_seconds: float = 1200.0
    cpu_seconds: int = 900
    memory_bytes: int = 12 << 30
    file_bytes: int = 2 << 30

    def flags(self) -> list[str]:
        """Returns the command-line flags of the limits, which the process sets on itself."""
        flags = ["--cpu-seconds", str(self.cpu_seconds), "--memory-bytes", str(self.memory_bytes)]
        return [*flags, "--file-bytes", str(self.file_bytes)]


@dataclass(frozen=True)
class ProcessWork:
    """A process: a module with its arguments, its name `what` in sentences, and a remedy if it is too big.

    `folder` is its private home folder; `root` is the folder of its packages.
    """

    what: str
    remedy: str
    module: str
    arguments: Sequence[str]
    folder: Path
    root: Path


def run_limited(work: ProcessWork, limits: ProcessLimits, supervision: Supervision = UNSUPERVISED) -> str:
    """Runs the process to its end and returns its message.

    The supervision is asked again and again, at the end once more for room. Raises BundleError, DataError or
    TaskFileError with the process' own sentence or one on its death, CancelledError, OverQuotaError, or what
    the supervision raises.
    """
    # -P keeps the working directory, where something hostile could lie, off the import path.
    command = [sys.executable, "-P", "-m", work.module, *work.arguments]
    # Output goes into files, whose size is limited: a hostile process could exhaust the server's memory.
    with (work.folder / "said").open("w+b") as output_file, (work.folder / "log").open("w+b") as log:
        with subprocess.Popen(  # noqa: S603 - our own interpreter and module, no shell
            command,
            cwd=work.folder,
            env=_environment(work.folder, work.root, os.environ),
            stdin=subprocess.DEVNULL,
            stdout=output_file,
            stderr=log,
        ) as process:
            try:
                meter = _DiskMeter(work.folder, supervision.room)
                progress = _ProgressReader(output_file.fileno(), supervision.tell)
                _wait(process, work, limits, progress, meter, supervision.cancelled)
            finally:
                if process.poll() is None:
                    process.kill()
        head, output, errors = _text(log, 0), _text(output_file, TEXT_BYTES), _text(log, TEXT_BYTES)
    for line in head.splitlines():
        if line.startswith(_LACKING):
            _warn_once(plain_text(line.removeprefix(_LACKING)[:_LINE_CHARACTERS]))
    done = subprocess.CompletedProcess(command, process.returncode, output, errors)
    return _answer(done, work, limits)


def _wait(
    process: subprocess.Popen[bytes],
    work: ProcessWork,
    limits: ProcessLimits,
    progress: _ProgressReader,
    meter: _DiskMeter,
    cancelled: Cancelled,
) -> None:
    due = time.monotonic() + limits.wall_seconds
    while True:
        try:
            process.wait(_POLL_SECONDS)
            progress.read()
            meter.read()
            return
        except subprocess.TimeoutExpired:
            progress.read()
            meter.read_if_due()
        if cancelled():
            raise CancelledError(f"{work.what} was cancelled.")
        if time.monotonic() >= due:
            raise BundleError(f"{work.what} took longer than {limits.wall_seconds:g} seconds; {work.remedy}.")


class _DiskMeter:
    """Measures what a process takes on the disk, for at most a tenth of the time, and passes it to `room`."""

    def __init__(self, folder: Path, room: Room) -> None:
        self._folder, self._room, self._due = folder, room, 0.0

    def read_if_due(self) -> None:
        """Measures unless the last measurement was a moment ago."""
        if time.monotonic() >= self._due:
            self.read()

    def read(self) -> None:
        """Measures now. Raises what `room` raises, and BundleError for files without end."""
        began = time.monotonic()
        self._room(tree_bytes(self._folder))
        ended = time.monotonic()
        self._due = ended + 10 * (ended - began)


class _ProgressReader:
    """Reads a process' progress lines as they are written, and passes them to `tell`.

    It reads by the descriptor, at its own offset: the process may put a pipe in the file's place.
    """

    def __init__(self, descriptor: int, tell: Tell) -> None:
        self._descriptor, self._tell = descriptor, tell
        self._offset, self._lines, self._rest = 0, 0, b""

    def read(self) -> None:
        new = os.pread(self._descriptor, TEXT_BYTES, self._offset)
        self._offset += len(new)
        *whole, self._rest = (self._rest + new)[-TEXT_BYTES:].split(b"\n")
        for line in whole:
            text = line.decode("utf-8", "replace")
            if text.startswith(_PROGRESS) and self._lines < _LINES:
                self._lines += 1
                self._tell(plain_text(text.removeprefix(_PROGRESS)[:_LINE_CHARACTERS]))


def _text(file: IO[bytes], last: int) -> str:
    """Returns the last `last` bytes of a file as text, or its first TEXT_BYTES if `last` is 0."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - last) if last else 0)
    return file.read(TEXT_BYTES).decode("utf-8", "replace")


def _warn_once(sentence: str) -> None:
    if sentence in _lacking or len(_lacking) == _MOST_LACKING:
        return
    _lacking.add(sentence)
    logging.getLogger(__name__).warning("Conversions are not fully isolated: %s", sentence)


def _environment(folder: Path, root: Path, own: Mapping[str, str]) -> dict[str, str]:
    """Returns the few variables that a program needs to start: none with addresses or secrets."""
    inherited = {name: own[name] for name in _ENVIRONMENT if name in own}
    home = {"HOME": str(folder), "TMPDIR": str(folder), "KERAS_HOME": str(folder)}
    return inherited | home | {"PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"}


def _answer(done: subprocess.CompletedProcess[str], work: ProcessWork, limits: ProcessLimits) -> str:
    try:
        answer = json.loads(done.stdout.strip().rpartition("\n")[2])
        ok, message, code = bool(answer["ok"]), plain_text(str(answer["message"])), answer.get("code")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        _explain_death(done, work, limits)
    if ok and done.returncode == 0:
        return message
    if code == OverQuotaError.code:
        raise OverQuotaError(message)
    if code == "bad-data":
        raise DataError(message)
    raise TaskFileError(message) if code == "bad-task" else BundleError(message)


def _explain_death(
    done: subprocess.CompletedProcess[str], work: ProcessWork, limits: ProcessLimits
) -> NoReturn:
    remedy = work.remedy[:1].upper() + work.remedy[1:]
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        raise BundleError(
            f"{work.what} was stopped; it may use {limits.cpu_seconds} seconds of CPU time. {remedy}."
        )
    if done.returncode in (-signal.SIGABRT, -signal.SIGSEGV, -signal.SIGBUS):
        gibibytes = limits.memory_bytes / (1 << 30)
        raise BundleError(
            f"{work.what} died, usually for lack of memory ({gibibytes:g} GiB allowed). {remedy}."
        )
    last = plain_text(done.stderr.strip().rpartition("\n")[2][:_LINE_CHARACTERS])
    raise BundleError(f"{work.what} failed unexpectedly ({last}); please report this with the file.")
