"""Inspects, previews, cuts and unpacks uploaded data in a sandboxed, limited process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import msgspec
import numpy as np

import backend
from backend.datasets.inspection.example_shape import ExampleShape, read_shape
from backend.datasets.inspection.findings import DataFindings, read_findings
from backend.datasets.inspection.jobs import (
    FINDINGS,
    MEASURED,
    SHOWN,
    CutJob,
    Job,
    LookJob,
    MeasureJob,
    PictureJob,
    ShowJob,
    UnpackJob,
)
from backend.datasets.inspection.model_input import ModelInput
from backend.datasets.inspection.owner_picture import MAX_HEIGHT, MAX_WIDTH, PIXELS
from backend.datasets.inspection.preview_result import PreviewResult, read_shown
from backend.errors import BundleError
from backend.numerics.preprocess.declared import Preprocess
from backend.numerics.preprocess.image import Pixels
from backend.server.sandbox.limited_process import (
    UNSUPERVISED,
    ProcessLimits,
    ProcessWork,
    Supervision,
    run_limited,
)
from backend.server.sandbox.work_folder import check_results, read_result, work_folder

T = TypeVar("T")

_JOB = "job.json"
# Findings in a thousand columns and the previews of a thousand tokens stay far below.
_REPORT_BYTES = 64 << 20
# A shard has a mebibyte, or a single example. The server reads it whole, and its index as well.
_SHARD_BYTES = 64 << 20
LIMITS = ProcessLimits(wall_seconds=900.0, cpu_seconds=600, memory_bytes=4 << 30, file_bytes=4 << 30)
_PICTURE_LIMITS = ProcessLimits(wall_seconds=60.0, cpu_seconds=30, memory_bytes=4 << 30, file_bytes=8 << 20)


def inspect_data(
    data: Path,
    name: str,
    model_input: ModelInput,
    output: Path,
    supervision: Supervision = UNSUPERVISED,
    limits: ProcessLimits = LIMITS,
) -> DataFindings:
    """Inspects the data. Writes the findings and small pictures into the new folder `output`.

    Raises DataError or BundleError with a remedy, CancelledError, or what the supervision raises.
    """

    def job(folder: Path) -> Job:
        return LookJob(str(data.resolve()), name, str(folder), model_input)

    return _run(
        job, [data], output, limits, supervision, lambda _, made: read_findings(_report(made / FINDINGS))
    )


def preview_data(
    data: Path,
    name: str,
    declared: Preprocess,
    holdout: float,
    manifest: Path | None,
    output: Path,
    supervision: Supervision = UNSUPERVISED,
    limits: ProcessLimits = LIMITS,
) -> PreviewResult:
    """Preprocesses some examples. Writes them and pictures into the folder `output`.

    Raises as `inspect_data`.
    """
    manifest_path = None if manifest is None else str(manifest.resolve())

    def job(folder: Path) -> Job:
        return ShowJob(str(data.resolve()), name, str(folder), manifest_path, declared, holdout)

    reads = [data, *([manifest] if manifest else [])]
    return _run(job, reads, output, limits, supervision, lambda _, made: read_shown(_report(made / SHOWN)))


def measure_data(
    data: Path,
    name: str,
    declared: Preprocess,
    holdout: float,
    output: Path,
    supervision: Supervision = UNSUPERVISED,
) -> ExampleShape:
    """Measures the shape of preprocessed examples, by way of the new folder `output`.

    Raises as `inspect_data`.
    """

    def job(folder: Path) -> Job:
        return MeasureJob(str(data.resolve()), name, str(folder), declared, holdout)

    return _run(
        job, [data], output, LIMITS, supervision, lambda _, made: read_shape(_report(made / MEASURED))
    )


def cut_data(
    data: Path,
    name: str,
    declared: Preprocess,
    holdout: float,
    manifest: Path,
    output: Path,
    supervision: Supervision = UNSUPERVISED,
    limits: ProcessLimits = LIMITS,
    *,
    strict: bool = False,
    max_bytes: int | None = None,
) -> str:
    """Cuts the data into shards in `output`/shards. Returns a sentence.

    Raises as `inspect_data`, and OverQuotaError if it takes more than `max_bytes` to write.
    """

    def job(folder: Path) -> Job:
        arguments = (str(data.resolve()), name, str(folder), str(manifest.resolve()), declared, holdout)
        return CutJob(*arguments, strict, max_bytes)

    return _run(job, [data, manifest], output, limits, supervision, _message, depth=1, largest=_SHARD_BYTES)


def unpack_draft(
    archive: Path,
    name: str,
    max_bytes: dict[str, int],
    output: Path,
    supervision: Supervision = UNSUPERVISED,
) -> list[Path]:
    """Unpacks an exported draft into the new folder `output`. Raises as `inspect_data`."""

    def job(folder: Path) -> Job:
        return UnpackJob(str(archive.resolve()), name, str(folder), max_bytes)

    _run(job, [archive], output, LIMITS, supervision, _message)
    return sorted(output.iterdir())


def prepare_picture(data: Path, output: Path, limits: ProcessLimits = _PICTURE_LIMITS) -> Pixels:
    """Decodes an owner's picture, by way of the new folder `output`: levels [height, width, 4].

    Raises as `inspect_data`.
    """

    def job(folder: Path) -> Job:
        return PictureJob(str(data.resolve()), data.name, str(folder))

    words = ("Reading the picture", "upload a smaller one")
    return _run(job, [data], output, limits, UNSUPERVISED, _pixels, words=words)


def _run(
    job: Callable[[Path], Job],
    reads: list[Path],
    output: Path,
    limits: ProcessLimits,
    supervision: Supervision,
    read: Callable[[str, Path], T],
    depth: int = 0,
    largest: int | None = None,
    words: tuple[str, str] = ("Reading the data", "bring fewer data"),
) -> T:
    """Runs a job and moves its result to `output`, once it is checked and `read` accepts it.

    `read` gets the process' sentence and the folder of its result, with folders of at most `depth` in it, and
    files of at most `largest` bytes; None allows what the process may write. `words` are what it does, and a
    remedy if that takes too much.
    """
    package = Path(str(backend.__file__)).resolve().parent
    with work_folder(output.parent, ".look-") as home:
        result = home / "made"
        result.mkdir()
        (home / _JOB).write_bytes(msgspec.json.encode(job(result)))
        arguments = limits.flags()
        for path in (package, home / _JOB, *reads):
            arguments += ["--read", str(path.resolve())]
        arguments += ["--write", str(home), "backend.datasets.inspection", str(home / _JOB)]
        work = ProcessWork(
            *words,
            "converter.sandbox.confined_process",
            arguments,
            home,
            package.parent,
        )
        message = run_limited(work, limits, supervision)
        check_results(result, depth, largest or limits.file_bytes)
        accepted = read(message, result)
        result.rename(output)
    return accepted


def _report(path: Path) -> bytes:
    return read_result(path, _REPORT_BYTES)


def _pixels(message: str, made: Path) -> Pixels:
    """Reads the pixels of a picture, whose width and height are the process' sentence."""
    width, height = (int(one) if one.isascii() and one.isdecimal() else 0 for one in _two(message))
    content = read_result(made / PIXELS, 4 * MAX_WIDTH * MAX_HEIGHT)
    fits = 0 < width <= MAX_WIDTH and 0 < height <= MAX_HEIGHT
    if not fits or len(content) != 4 * width * height:
        raise BundleError("The picture's pixels cannot be read; upload another picture.")
    return np.frombuffer(content, np.uint8).reshape(height, width, 4)


def _two(message: str) -> tuple[str, str]:
    width, _, height = message[:20].partition(" ")
    return width, height


def _message(message: str, _result: Path) -> str:
    return message
