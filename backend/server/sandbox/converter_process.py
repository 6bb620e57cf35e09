"""Runs modules of the converter in limited processes: the server itself does not import TensorFlow."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec

from backend.errors import BundleError, SettingsError
from backend.server.sandbox.limited_process import (
    UNSUPERVISED,
    ProcessLimits,
    ProcessWork,
    Supervision,
    run_limited,
)
from backend.server.sandbox.work_folder import read_result

REPORT, REPORT_BYTES = "report.json", 1 << 20

Report = TypeVar("Report")


@dataclass(frozen=True)
class ConverterProcess:
    """Runs the modules of the package `converter`, which lies in the folder `root`."""

    root: Path
    limits: ProcessLimits
    supervision: Supervision

    def run(self, what: str, remedy: str, module: str, arguments: Sequence[str], folder: Path) -> str:
        """Runs `module` in `folder` and returns its message. See ProcessWork and `run_limited`."""
        words = [*arguments, *self.limits.flags()]
        work = ProcessWork(what, remedy, module, words, folder, self.root)
        return run_limited(work, self.limits, self.supervision)


def converter_process(limits: ProcessLimits, supervision: Supervision = UNSUPERVISED) -> ConverterProcess:
    """Returns the converter with its limits. Raises SettingsError without it or TensorFlow."""
    return ConverterProcess(converter_folder().parent, limits, supervision)


def converter_folder() -> Path:
    """Returns the folder of the package `converter`. Raises SettingsError without it or TensorFlow."""
    spec = importlib.util.find_spec("converter")
    if spec is None or spec.origin is None or importlib.util.find_spec("tensorflow") is None:
        raise SettingsError(
            "Converting a model needs TensorFlow; install it with pip install 'minga[convert]'."
        )
    return Path(spec.origin).resolve().parent


def read_report(folder: Path, kind: type[Report], what: str) -> Report:
    """Reads the report that the process `what` left in `folder`. Raises BundleError."""
    try:
        return msgspec.json.decode(read_result(folder / REPORT, REPORT_BYTES), type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BundleError(f"{what} left no report ({error}); run it again.") from error
