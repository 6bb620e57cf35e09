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
from backend.server.drafts.review.forecast import forecast_of, trial_plan
from backend.server.drafts.starters import building
from backend.server.drafts.toml import to_toml
from backend.server.sandbox.conversion import ConversionLimits, Proposed, convert
from backend.server.sandbox.data_inspection import cut_data, inspect_data, measure_data, preview_data
from backend.server.sandbox.dry_run import dry_run
from backend.server.sandbox.limited_process import Supervision
from backend.server.sandbox.plan_trial import try_plan
from backend.server.sandbox.starter_model import build_starter
from backend.server.sandbox.work_folder import read_result

LIMITS = ConversionLimits(memory_bytes=8 << 30, cpu_seconds=600, wall_seconds=900.0)
_CUT = ".cut"
_INDEX_BYTES = 64 << 20
NEEDS_DATA = "Bring data, or name the classes of the pictures, so that the model can be built for them."
JobResult = tuple[dict[str, Any] | None, str]


def clear(drafts: Drafts, draft: Draft, kind: JobKind) -> None:
    """Deletes the outdated result of such a job, which makes room for the new one."""
    folder = drafts.folder(draft)
    (folder / TASK).mkdir(exist_ok=True)
    shutil.rmtree(folder / MADE[kind], ignore_errors=True)
    shutil.rmtree(folder / _CUT, ignore_errors=True)


def perform(drafts: Drafts, draft: Draft, kind: JobKind, supervision: Supervision, left: int) -> JobResult:
    """Runs a job after `clear`, with room for `left` bytes. Returns its result and a sentence.

    Raises MingaError with a remedy, or CancelledError; nothing of its result is left then.
    """
    try:
        return _perform(drafts, draft, kind, supervision, left)
    except BaseException:
        clear(drafts, draft, kind)
        raise


def _perform(drafts: Drafts, draft: Draft, kind: JobKind, supervision: Supervision, left: int) -> JobResult:
    folder = drafts.folder(draft)
    match kind:
        case "build":
            return _build(drafts, draft, supervision)
        case "convert":
            return _convert(drafts, draft, supervision)
        case "look":
            return _look(drafts, draft, supervision)
        case "show":
            return _show(drafts, draft, supervision)
        case "cut":
            return _cut(drafts, draft, supervision, left)
        case "rehearse":
            return _dry_run(draft, folder, supervision)
        case "forecast":
            return _forecast(draft, folder, supervision)


def _build(drafts: Drafts, draft: Draft, supervision: Supervision) -> JobResult:
    (preprocess, holdout), folder = _declared(draft), drafts.folder(draft)
    name, output = draft.starter or "", folder / MADE["build"]
    output.mkdir()
    example = building.shape_without_data(preprocess)
    if "data" in draft.files:
        stored = draft.files["data"]
        data = drafts.file(draft, "data")
        measured = output / "measured"
        example = measure_data(data, stored.name, preprocess, holdout, measured, supervision)
        shutil.rmtree(measured)
    if example is None:
        raise NotWantedError(NEEDS_DATA)
    fitting = building.model_shape(name, example)
    model = output / building.MODEL
    parameters = build_starter(name, fitting.shape, model, supervision)
    result = {
        "starter": name,
        "parameters": parameters,
        "loss": fitting.loss,
        "metrics": list(fitting.metrics),
        "file": msgspec.to_builtins(building.stored_model(name, model, drafts.clock())),
    }
    return result, f"Built for your data: {parameters:,} parameters."


def _convert(drafts: Drafts, draft: Draft, supervision: Supervision) -> JobResult:
    folder = drafts.folder(draft)
    file, bundle = folder / TASK / "task.toml", folder / MADE["convert"]
    file.write_text(to_toml(draft.task), "utf-8")
    proposals: list[Proposed] = []
    model = drafts.file(draft, "model")
    message = convert(model, file, bundle, LIMITS, None, supervision, proposals.append)
    return {"model": proposals[0].tables(), "ports": _ports(bundle)}, message


def _look(drafts: Drafts, draft: Draft, supervision: Supervision) -> JobResult:
    folder = drafts.folder(draft)
    file, name = drafts.file(draft, "data"), draft.files["data"].name
    output, model_input = folder / MADE["look"], _model_input(folder)
    findings = inspect_data(file, name, model_input, output, supervision)
    return msgspec.to_builtins(findings), f"Found {findings.examples:,} examples."


def _show(drafts: Drafts, draft: Draft, supervision: Supervision) -> JobResult:
    (preprocess, holdout), folder = _declared(draft), drafts.folder(draft)
    preview = preview_data(
        drafts.file(draft, "data"),
        draft.files["data"].name,
        preprocess,
        holdout,
        folder / MADE["convert"] / "bundle.json" if holds(draft, "convert", folder) else None,
        folder / MADE["show"],
        supervision,
    )
    return msgspec.to_builtins(preview), "Here are some examples after preprocessing."


def _cut(drafts: Drafts, draft: Draft, supervision: Supervision, left: int) -> JobResult:
    (preprocess, holdout), folder = _declared(draft), drafts.folder(draft)
    bundle, output = folder / MADE["convert"], folder / _CUT
    set_loading(bundle, draft.task)
    message = cut_data(
        drafts.file(draft, "data"),
        draft.files["data"].name,
        preprocess,
        holdout,
        bundle / "bundle.json",
        output,
        supervision,
        max_bytes=left,
        strict=draft.task["data"].get("source") == "url",
    )
    (output / task_tables.SHARDS).rename(folder / MADE["cut"])
    output.rmdir()
    index = msgspec.json.decode(read_result(folder / MADE["cut"] / INDEX, _INDEX_BYTES), type=ShardIndex)
    counts = (sum(shard.examples for shard in half) for half in (index.train, index.holdout))
    return dict(zip(("train", "held_out"), counts, strict=True)), message


def _dry_run(draft: Draft, folder: Path, supervision: Supervision) -> JobResult:
    bundle, output = folder / MADE["convert"], folder / MADE["rehearse"]
    set_loading(bundle, draft.task)
    shards = folder / MADE["cut"] if holds(draft, "cut", folder) else None
    output.mkdir()
    report = dry_run(bundle, shards, output, supervision)
    what = "your examples" if report.real else "noise"
    message = (
        f"Keras and the converted model agree. A step on {what} takes {report.step_ms:.3g} ms here "
        f"and changes the loss from {report.loss:.4g} to {report.loss_after:.4g}."
    )
    return msgspec.to_builtins(report), message


def _forecast(draft: Draft, folder: Path, supervision: Supervision) -> JobResult:
    plan, output = trial_plan(draft, folder), folder / MADE["forecast"]
    if plan is None:
        raise NotWantedError("Cut the data first: the plan is tried on them.")
    output.mkdir()
    shards, bundle = folder / MADE["cut"], folder / MADE["convert"]
    curve = try_plan(bundle, shards, plan, output, supervision)
    found = forecast_of(curve)
    message = "Not even one round was finished in a minute." if found is None else found.text
    return msgspec.to_builtins(curve), message


def _declared(draft: Draft) -> tuple[Preprocess, float]:
    """Returns the preprocessing and the share of held-out data. Raises TaskFileError, NotWantedError."""
    data = task_tables.parsed(draft.task).data
    if data.preprocess is None:
        raise NotWantedError(
            "First declare how to read the data: [data.preprocess], which the inspection proposes."
        )
    return data.preprocess, data.holdout


def _ports(bundle: Path) -> list[Any]:
    """Returns the shapes of a converted model's inputs, labels and outputs."""
    manifest = parse_manifest((bundle / "bundle.json").read_bytes())
    specs = (manifest.inputs, manifest.labels, manifest.outputs)
    return [[list(spec.shape) for spec in some] for some in specs]


def _model_input(folder: Path) -> ModelInput:
    manifest = folder / MADE["convert"] / "bundle.json"
    return input_of(parse_manifest(manifest.read_bytes())) if manifest.is_file() else ModelInput()
