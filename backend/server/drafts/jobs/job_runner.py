"""Runs each kind of job in a thread: it reads a draft's files and writes its results beside them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import msgspec

from backend.datasets.inspection.model_input import ModelInput, input_of
from backend.errors import NotWantedError
from backend.formats.manifest import parse_manifest
from backend.formats.shard_index import INDEX, ShardIndex
from backend.numerics.preprocess.declared import Preprocess
from backend.server.drafts import task_tables
from backend.server.drafts.draft_store import Drafts
from backend.server.drafts.input_loading import set_loading
from backend.server.drafts.record import Draft, JobKind
from backend.server.drafts.review.checklist import MADE, TASK, holds
from backend.server.drafts.toml import to_toml
from backend.server.sandbox.conversion import ConversionLimits, Proposed, convert
from backend.server.sandbox.data_inspection import cut_data, inspect_data, preview_data
from backend.server.sandbox.dry_run import dry_run
from backend.server.sandbox.limited_process import Cancelled, Tell

LIMITS = ConversionLimits(memory_bytes=8 << 30, cpu_seconds=600, wall_seconds=900.0)
JobResult = tuple[dict[str, Any] | None, str]


def perform(drafts: Drafts, draft: Draft, kind: JobKind, tell: Tell, cancelled: Cancelled) -> JobResult:
    """Runs a job. Returns its result and a sentence. Raises MingaError with a remedy, or CancelledError."""
    folder = drafts.folder(draft)
    (folder / TASK).mkdir(exist_ok=True)
    shutil.rmtree(folder / MADE[kind], ignore_errors=True)
    match kind:
        case "convert":
            return _convert(drafts, draft, tell, cancelled)
        case "look":
            return _look(drafts, draft, tell, cancelled)
        case "show":
            return _show(drafts, draft, tell, cancelled)
        case "cut":
            return _cut(drafts, draft, tell, cancelled)
        case "rehearse":
            return _dry_run(draft, folder, tell, cancelled)


def _convert(drafts: Drafts, draft: Draft, tell: Tell, cancelled: Cancelled) -> JobResult:
    folder = drafts.folder(draft)
    file, bundle = folder / TASK / "task.toml", folder / MADE["convert"]
    file.write_text(to_toml(draft.task), "utf-8")
    proposals: list[Proposed] = []
    message = convert(
        drafts.file(draft, "model"), file, bundle, LIMITS, None, tell, cancelled, proposals.append
    )
    return {"model": proposals[0].tables()}, message


def _look(drafts: Drafts, draft: Draft, tell: Tell, cancelled: Cancelled) -> JobResult:
    folder = drafts.folder(draft)
    file, name = drafts.file(draft, "data"), draft.files["data"].name
    findings = inspect_data(file, name, _model_input(folder), folder / MADE["look"], tell, cancelled)
    return msgspec.to_builtins(findings), f"Found {findings.examples:,} examples."


def _show(drafts: Drafts, draft: Draft, tell: Tell, cancelled: Cancelled) -> JobResult:
    (preprocess, holdout), folder = _declared(draft), drafts.folder(draft)
    preview = preview_data(
        drafts.file(draft, "data"),
        draft.files["data"].name,
        preprocess,
        holdout,
        folder / MADE["convert"] / "bundle.json" if holds(draft, "convert", folder) else None,
        folder / MADE["show"],
        tell,
        cancelled,
    )
    return msgspec.to_builtins(preview), "This is what becomes of some examples."


def _cut(drafts: Drafts, draft: Draft, tell: Tell, cancelled: Cancelled) -> JobResult:
    (preprocess, holdout), folder = _declared(draft), drafts.folder(draft)
    bundle, output = folder / MADE["convert"], folder / ".cut"
    set_loading(bundle, draft.task)
    shutil.rmtree(output, ignore_errors=True)
    message = cut_data(
        drafts.file(draft, "data"),
        draft.files["data"].name,
        preprocess,
        holdout,
        bundle / "bundle.json",
        output,
        tell,
        cancelled,
        strict=draft.task["data"].get("source") == "url",
    )
    (output / task_tables.SHARDS).rename(folder / MADE["cut"])
    output.rmdir()
    index = msgspec.json.decode((folder / MADE["cut"] / INDEX).read_bytes(), type=ShardIndex)
    counts = (sum(shard.examples for shard in half) for half in (index.train, index.holdout))
    return dict(zip(("train", "held_out"), counts, strict=True)), message


def _dry_run(draft: Draft, folder: Path, tell: Tell, cancelled: Cancelled) -> JobResult:
    bundle, output = folder / MADE["convert"], folder / MADE["rehearse"]
    set_loading(bundle, draft.task)
    shards = folder / MADE["cut"] if holds(draft, "cut", folder) else None
    output.mkdir()
    report = dry_run(bundle, shards, output, tell, cancelled)
    what = "your examples" if report.real else "noise"
    message = (
        f"Keras and the converted model agree. A step on {what} takes {report.step_ms:.3g} ms here "
        f"and changes the loss from {report.loss:.4g} to {report.loss_after:.4g}."
    )
    return msgspec.to_builtins(report), message


def _declared(draft: Draft) -> tuple[Preprocess, float]:
    """Returns the preprocessing and the share of held-out data. Raises TaskFileError, NotWantedError."""
    data = task_tables.parsed(draft.task).data
    if data.preprocess is None:
        raise NotWantedError(
            "Say how the data are read first: [data.preprocess], which looking at them proposes."
        )
    return data.preprocess, data.holdout


def _model_input(folder: Path) -> ModelInput:
    manifest = folder / MADE["convert"] / "bundle.json"
    return input_of(parse_manifest(manifest.read_bytes())) if manifest.is_file() else ModelInput()
