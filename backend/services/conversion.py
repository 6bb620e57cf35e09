"""Run the converter as its own, limited process: the server itself touches no TensorFlow."""

from __future__ import annotations

import functools
import importlib.util
import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NoReturn

from backend.errors import BundleError, SettingsError, TaskFileError

TEXT_BYTES = 1 << 16
_PASSED_ON = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "SYSTEMROOT")


@dataclass(frozen=True)
class ConversionLimits:
    """What one conversion may use: seconds of wall and CPU time, bytes of address space and of one file."""

    wall_seconds: float = 1200.0
    cpu_seconds: int = 900
    memory_bytes: int = 12 << 30
    file_bytes: int = 2 << 30
    parameters: int = 50_000_000


def convert(
    model: Path,
    task_file: Path,
    output: Path,
    limits: ConversionLimits | None = None,
    custom: Path | None = None,
) -> str:
    """Make the bundle of `model` in the folder `output`, which must not exist; returns a sentence about it.

    The folder appears complete or not at all. `custom` is a Python file that is run: only for an owner's own
    model on the owner's own machine, never for an upload. Raises BundleError or TaskFileError with the
    converter's sentence, and SettingsError where the converter is not installed.
    """
    limits = limits or ConversionLimits()
    root = converter_folder().parent
    output = output.absolute()
    if output.exists():
        raise BundleError(f"{output} exists already; choose another folder or remove it first.")
    output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".convert-", dir=output.parent) as folder:
        draft = Path(folder) / "bundle"
        command = _command(model.resolve(), task_file.resolve(), draft, limits)
        if custom:
            command += ["--custom", str(custom.resolve())]
        done = _run(command, Path(folder), root, limits)
        message = _message(done, limits)
        draft.rename(output)
    return message


def converter_folder() -> Path:
    """Folder of the package `converter`. Raises SettingsError unless it and TensorFlow are installed."""
    found = importlib.util.find_spec("converter")
    if found is None or found.origin is None or importlib.util.find_spec("tensorflow") is None:
        raise SettingsError(
            "Converting a model needs TensorFlow; install it with pip install 'minga[convert]'."
        )
    return Path(found.origin).resolve().parent


def _command(model: Path, task_file: Path, draft: Path, limits: ConversionLimits) -> list[str]:
    # -P keeps the working directory, where the model could lie, off the import path.
    command = [
        sys.executable,
        "-P",
        "-m",
        "converter",
        str(model),
        "--task",
        str(task_file),
        "-o",
        str(draft),
    ]
    command += ["--cpu-seconds", str(limits.cpu_seconds), "--memory-bytes", str(limits.memory_bytes)]
    return [*command, "--file-bytes", str(limits.file_bytes), "--max-parameters", str(limits.parameters)]


def _run(
    command: list[str], folder: Path, root: Path, limits: ConversionLimits
) -> subprocess.CompletedProcess[str]:
    # Into files, which the limit on files bounds: a hostile model could print until this process is full.
    with (folder / "said").open("w+b") as said, (folder / "log").open("w+b") as log:
        try:
            done = subprocess.run(  # noqa: S603 - our own interpreter and module, no shell
                command,
                cwd=folder,
                env=_environment(folder, root, os.environ),
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=log,
                timeout=limits.wall_seconds,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise BundleError(
                f"The conversion took longer than {limits.wall_seconds:g} seconds; "
                "use a smaller model or batch."
            ) from error
        head, output, errors = _text(log, 0), _text(said, TEXT_BYTES), _text(log, TEXT_BYTES)
    for line in head.splitlines():
        if line.startswith("sandbox: "):
            _warn_once(line.removeprefix("sandbox: "))
    return subprocess.CompletedProcess(command, done.returncode, output, errors)


def _text(file: IO[bytes], last: int) -> str:
    """The last `last` bytes of a file, or its first TEXT_BYTES if 0, as text."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - last) if last else 0)
    return file.read(TEXT_BYTES).decode("utf-8", "replace")


@functools.cache
def _warn_once(sentence: str) -> None:
    logging.getLogger(__name__).warning("Conversions are less shut in than they could be: %s", sentence)


def _environment(folder: Path, root: Path, own: Mapping[str, str]) -> dict[str, str]:
    """Nothing of the server's environment but what a program needs to start: no addresses, no secrets."""
    passed = {name: own[name] for name in _PASSED_ON if name in own}
    home = {"HOME": str(folder), "TMPDIR": str(folder), "KERAS_HOME": str(folder)}
    return passed | home | {"PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"}


def _message(done: subprocess.CompletedProcess[str], limits: ConversionLimits) -> str:
    try:
        answer = json.loads(done.stdout.strip().rpartition("\n")[2])
        ok, message, code = bool(answer["ok"]), str(answer["message"]), answer.get("code")
    except (ValueError, KeyError, TypeError, AttributeError):
        _explain_death(done, limits)
    if ok and done.returncode == 0:
        return message
    raise TaskFileError(message) if code == "bad-task" else BundleError(message)


def _explain_death(done: subprocess.CompletedProcess[str], limits: ConversionLimits) -> NoReturn:
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        raise BundleError(
            f"The conversion was stopped; it may use {limits.cpu_seconds} seconds of CPU time. "
            "Use a smaller model."
        )
    if done.returncode in (-signal.SIGABRT, -signal.SIGSEGV, -signal.SIGBUS):
        gibibytes = limits.memory_bytes / (1 << 30)
        raise BundleError(
            f"The conversion died, most often for want of memory ({gibibytes:g} GiB allowed). "
            "Use a smaller model."
        )
    last = done.stderr.strip().rpartition("\n")[2][:300]
    raise BundleError(f"The conversion failed unexpectedly ({last}); please report this with the model.")
