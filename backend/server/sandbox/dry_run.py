"""Dry-runs a bundle: takes one training step with TensorFlow in a sandboxed process."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
from msgspec import Struct

from backend.formats.file_hash import file_sha256
from backend.formats.manifest import parse_manifest
from backend.server.sandbox.converter_process import converter_process, read_report
from backend.server.sandbox.graph_arrays import first_batch
from backend.server.sandbox.limited_process import UNSUPERVISED, ProcessLimits, Supervision
from backend.server.sandbox.work_folder import check_result, work_folder

LIMITS = ProcessLimits(wall_seconds=600.0, cpu_seconds=300)
# The file of the step's batch, loss and gradient (converter/step_file.py).
STEP = "step.safetensors"


class Rehearsed(Struct, frozen=True):
    """The results of a dry run; `real` states that the batch had the task's own examples.

    `difference` is the largest relative L2 distance between an output of Keras and of the native graph;
    `step_loss` is the loss of the training step, with dropout and the like; `step` is the SHA-256 of STEP.
    """

    difference: float
    loss: float
    loss_after: float
    step_loss: float
    gradient_norm: float
    step_ms: float
    real: bool = False
    step: str = ""


def dry_run(
    bundle: Path,
    shards: Path | None,
    output: Path,
    supervision: Supervision = UNSUPERVISED,
) -> Rehearsed:
    """Takes a step of the bundle on examples of `shards`, or on noise; writes STEP into `output`.

    Raises BundleError with a remedy, CancelledError, what the supervision raises, and SettingsError without
    TensorFlow.
    """
    converter = converter_process(LIMITS, supervision)
    with work_folder(output, ".rehearse-") as home:
        result = home / "made"
        result.mkdir()
        arguments = [str(bundle.resolve()), "-o", str(result)]
        if shards is not None:
            manifest = parse_manifest((bundle / "bundle.json").read_bytes())
            np.savez(home / "batch.npz", **first_batch(shards, manifest))
            arguments += ["--batch", str(home / "batch.npz")]
        remedy = "use a smaller model or batch"
        converter.run("The dry run", remedy, "converter.dry_run", arguments, home)
        report = read_report(result, Rehearsed, "The dry run")
        check_result(result / STEP, LIMITS.file_bytes)
        step = file_sha256(result / STEP)
        (result / STEP).replace(output / STEP)
    return msgspec.structs.replace(report, real=shards is not None, step=step)
