"""Inspects, previews, cuts and unpacks uploaded data in a sandboxed, limited process."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import msgspec

import backend
from backend.datasets.inspection.findings import DataFindings, read_findings
from backend.datasets.inspection.jobs import FINDINGS, SHOWN, CutJob, Job, LookJob, ShowJob, UnpackJob
from backend.datasets.inspection.model_input import ModelInput
from backend.datasets.inspection.preview_result import PreviewResult, read_shown
from backend.numerics.preprocess.declared import Preprocess
from backend.server.sandbox.limited_process import (
    Cancelled,
    ProcessLimits,
    ProcessWork,
    Tell,
    never,
    run_limited,
    silent,
)

_JOB = "job.json"
LIMITS = ProcessLimits(wall_seconds=900.0, cpu_seconds=600, memory_bytes=4 << 30, file_bytes=4 << 30)


def inspect_data(
    data: Path,
    name: str,
    model_input: ModelInput,
    output: Path,
    tell: Tell = silent,
    cancelled: Cancelled = never,
    limits: ProcessLimits = LIMITS,
) -> DataFindings:
    """Inspects the data. Writes the findings and small pictures into the new folder `output`.

    Raises DataError or BundleError with a remedy, or CancelledError.
    """

    def job(folder: Path) -> Job:
        return LookJob(str(data.resolve()), name, str(folder), model_input)

    _run(job, [data], output, tell, cancelled, limits)
    return read_findings((output / FINDINGS).read_bytes())


def preview_data(
    data: Path,
    name: str,
    declared: Preprocess,
    holdout: float,
    manifest: Path | None,
    output: Path,
    tell: Tell = silent,
    cancelled: Cancelled = never,
    limits: ProcessLimits = LIMITS,
) -> PreviewResult:
    """Preprocesses some examples. Writes them and pictures into the folder `output`.

    Raises as `inspect_data`.
    """
    manifest_path = None if manifest is None else str(manifest.resolve())

    def job(folder: Path) -> Job:
        return ShowJob(str(data.resolve()), name, str(folder), manifest_path, declared, holdout)

    _run(job, [data, *([manifest] if manifest else [])], output, tell, cancelled, limits)
    return read_shown((output / SHOWN).read_bytes())


def cut_data(
    data: Path,
    name: str,
    declared: Preprocess,
    holdout: float,
    manifest: Path,
    output: Path,
    tell: Tell = silent,
    cancelled: Cancelled = never,
    limits: ProcessLimits = LIMITS,
    *,
    strict: bool = False,
) -> str:
    """Cuts the data into shards in `output`/shards. Returns a sentence. Raises as `inspect_data`."""

    def job(folder: Path) -> Job:
        arguments = (str(data.resolve()), name, str(folder), str(manifest.resolve()), declared, holdout)
        return CutJob(*arguments, strict)

    return _run(job, [data, manifest], output, tell, cancelled, limits)


def unpack_draft(archive: Path, name: str, max_bytes: dict[str, int], output: Path) -> list[Path]:
    """Unpacks an exported draft into the new folder `output`. Raises DataError or BundleError."""

    def job(folder: Path) -> Job:
        return UnpackJob(str(archive.resolve()), name, str(folder), max_bytes)

    _run(job, [archive], output, silent, never, LIMITS)
    return sorted(output.iterdir())


def _run(
    job: Callable[[Path], Job],
    reads: list[Path],
    output: Path,
    tell: Tell,
    cancelled: Cancelled,
    limits: ProcessLimits,
) -> str:
    package = Path(str(backend.__file__)).resolve().parent
    with tempfile.TemporaryDirectory(prefix=".look-", dir=output.parent) as temporary:
        home, result = Path(temporary).resolve(), Path(temporary).resolve() / "made"
        result.mkdir()
        (home / _JOB).write_bytes(msgspec.json.encode(job(result)))
        arguments = limits.flags()
        for path in (package, home / _JOB, *reads):
            arguments += ["--read", str(path.resolve())]
        arguments += ["--write", str(home), "backend.datasets.inspection", str(home / _JOB)]
        work = ProcessWork(
            "Reading the data",
            "bring fewer data",
            "converter.sandbox.confined_process",
            arguments,
            home,
            package.parent,
        )
        message = run_limited(work, limits, tell, cancelled)
        result.rename(output)
    return message
