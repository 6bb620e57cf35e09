"""Runs an inspection job on untrusted data in a sandbox: `python -m backend.datasets.inspection JOB.json`.

The file contains a `jobs.Job`. The output has the converter's format: lines that begin with `doing: `, then
JSON, `{"ok", "message", "code"}`. Findings and shards are written to the job's folder.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import msgspec

from backend.datasets.inspection.draft_zip import unpack
from backend.datasets.inspection.example_shape import measure
from backend.datasets.inspection.inspect_file import inspect_file
from backend.datasets.inspection.jobs import (
    FINDINGS,
    MEASURED,
    SHARDS,
    SHOWN,
    CutJob,
    Job,
    LookJob,
    MeasureJob,
    PictureJob,
    ShowJob,
    UnpackJob,
)
from backend.datasets.inspection.owner_picture import prepare_picture, write_pixels
from backend.datasets.inspection.preview import preview
from backend.datasets.sharding.cut import CutPlan, cut
from backend.errors import DataError, MingaError, OverQuotaError
from backend.formats.manifest import parse_manifest

_REPORT_EVERY = 2000


def main() -> int:
    """Runs the job and returns the exit code."""
    job = msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=Job)
    try:
        message = _do(job)
    except OverQuotaError as error:
        return _answer(False, str(error), error.code)
    except MingaError as error:
        return _answer(False, str(error).replace(f"{job.data}", job.name), "bad-data")
    except MemoryError:
        return _answer(False, f"{job.name} needs more memory than allowed; use less data.", "bad-data")
    return _answer(True, message)


def _do(job: Job) -> str:
    match job:
        case LookJob():
            return _look(job)
        case CutJob():
            return _cut(job)
        case ShowJob():
            return _show(job)
        case MeasureJob():
            return _measure(job)
        case UnpackJob():
            return f"{len(unpack(Path(job.data), Path(job.folder), job.most))} parts."
        case PictureJob():
            return write_pixels(prepare_picture(Path(job.data).read_bytes()), Path(job.folder))


def _look(job: LookJob) -> str:
    _report(f"Looking at {job.name}.")
    folder = Path(job.folder)
    findings = inspect_file(Path(job.data), job.wanted, folder)
    findings.notes = [note.replace(job.data, job.name) for note in findings.notes]
    (folder / FINDINGS).write_bytes(msgspec.json.encode(findings))
    return f"{findings.examples:,} examples."


def _show(job: ShowJob) -> str:
    _report("Preparing some examples.")
    folder = Path(job.folder)
    manifest = None if job.manifest is None else parse_manifest(Path(job.manifest).read_bytes())
    made = preview(Path(job.data), job.declared, job.holdout, folder, manifest)
    made.broken = [text.replace(job.data, job.name) for text in made.broken]
    (folder / SHOWN).write_bytes(msgspec.json.encode(made))
    return "Here are some examples after preprocessing."


def _measure(job: MeasureJob) -> str:
    _report("Measuring the examples.")
    shape = measure(Path(job.data), job.declared, job.holdout)
    (Path(job.folder) / MEASURED).write_bytes(msgspec.json.encode(shape))
    return "The examples are measured."


def _cut(job: CutJob) -> str:
    manifest = parse_manifest(Path(job.manifest).read_bytes())
    folder = Path(job.folder) / SHARDS
    folder.mkdir()
    broken: list[str] = []

    def note(error: DataError) -> None:
        if job.strict:
            raise DataError(
                f"{error} Clients fetch this file and must read all of it: repair it, or leave it out."
            )
        broken.append(str(error))
        if len(broken) <= job.most_told:
            _report(f"Left out: {str(error).replace(job.data, job.name)}")

    reported = 0

    def progress(count: int) -> None:
        nonlocal reported
        if count - reported >= _REPORT_EVERY:
            reported = count
            _report(f"{count:,} examples read.")

    _report(f"Cutting {job.name} into shards.")
    plan = CutPlan(job.declared, holdout=job.holdout, max_bytes=job.max_bytes)
    result = cut(Path(job.data), plan, folder, manifest, note, progress)
    train, held = (
        sum(shard.examples for shard in shards) for shards in (result.index.train, result.index.holdout)
    )
    omitted = f" {len(broken):,} broken ones were left out." * bool(broken)
    return f"{train:,} examples to train on, {held:,} held out.{omitted}"


def _report(text: str) -> None:
    print(f"doing: {' '.join(text.split())}", flush=True)


def _answer(ok: bool, message: str, code: str | None = None) -> int:
    print(json.dumps({"ok": ok, "message": message, "code": code}), flush=True)
    return 0 if ok else 1


if __name__ == "__main__":
    raise SystemExit(main())
