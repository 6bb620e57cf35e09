"""Dry-runs a bundle: takes one training step with TensorFlow in a sandboxed process."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
from msgspec import Struct

from backend.errors import BundleError
from backend.formats.file_hash import file_sha256
from backend.formats.manifest import Manifest, parse_manifest
from backend.formats.shard_file import decode_shard
from backend.formats.shard_index import INDEX, ShardIndex
from backend.numerics.preprocess.loading import load_values
from backend.server.sandbox.conversion import converter_folder
from backend.server.sandbox.limited_process import (
    Cancelled,
    ProcessLimits,
    ProcessWork,
    Room,
    Tell,
    endless,
    never,
    run_limited,
    silent,
)
from backend.server.sandbox.work_folder import check_result, read_result, work_folder

LIMITS = ProcessLimits(wall_seconds=600.0, cpu_seconds=300)
_REPORT, _REPORT_BYTES = "report.json", 1 << 20
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
    tell: Tell = silent,
    cancelled: Cancelled = never,
    room: Room = endless,
) -> Rehearsed:
    """Takes a step of the bundle on examples of `shards`, or on noise; writes STEP into `output`.

    `room` is called with the bytes that the process takes on the disk, and raises to end it. Raises
    BundleError with a remedy, CancelledError, and SettingsError without TensorFlow.
    """
    root = converter_folder().parent
    with work_folder(output, ".rehearse-") as home:
        result = home / "made"
        result.mkdir()
        arguments = [str(bundle.resolve()), "-o", str(result), *LIMITS.flags()]
        if shards is not None:
            manifest = parse_manifest((bundle / "bundle.json").read_bytes())
            np.savez(home / "batch.npz", **first_batch(shards, manifest))
            arguments += ["--batch", str(home / "batch.npz")]
        remedy = "use a smaller model or batch"
        work = ProcessWork("The dry run", remedy, "converter.dry_run", arguments, home, root)
        run_limited(work, LIMITS, tell, cancelled, room)
        try:
            report = msgspec.json.decode(read_result(result / _REPORT, _REPORT_BYTES), type=Rehearsed)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise BundleError(f"The dry run left no report ({error}); run it again.") from error
        check_result(result / STEP, LIMITS.file_bytes)
        step = file_sha256(result / STEP)
        (result / STEP).replace(output / STEP)
    return msgspec.structs.replace(report, real=shards is not None, step=step)


def first_batch(
    shards: Path, manifest: Manifest
) -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.generic]]]:
    """Returns `x_0`, ..., `y_0`, ... of the first training examples for the graphs. Raises BundleError."""
    try:
        index = msgspec.json.decode((shards / INDEX).read_bytes(), type=ShardIndex)
        shard = decode_shard((shards / index.train[0].file).read_bytes(), manifest)
    except (OSError, IndexError, msgspec.DecodeError) as error:
        raise BundleError(f"The shards cannot be read ({error}); cut the data again.") from error
    loading, rows = manifest.preprocess, manifest.batch_size
    x = {
        f"x_{number}": load_values(values[:rows], loading.scale, loading.offset)
        if spec.dtype == "float32"
        else values[:rows].astype(np.int32)
        for number, (values, spec) in enumerate(zip(shard.x, manifest.inputs, strict=True))
    }
    y = {
        f"y_{number}": values[:rows].astype(spec.dtype)
        for number, (values, spec) in enumerate(zip(shard.y, manifest.labels, strict=True))
    }
    return x | y
