"""Trains a plan on a task's own examples for about a minute, in a sandboxed process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from backend.errors import BundleError
from backend.formats.manifest import Manifest, parse_manifest
from backend.formats.shard_index import INDEX, ShardIndex
from backend.server.estimates.guessing import chance
from backend.server.sandbox.converter_process import converter_process, read_report
from backend.server.sandbox.graph_arrays import read_examples
from backend.server.sandbox.limited_process import UNSUPERVISED, ProcessLimits, Supervision
from backend.server.sandbox.work_folder import work_folder

LIMITS = ProcessLimits(wall_seconds=300.0, cpu_seconds=600)
# Examples to train and to measure on, at most.
_TRAIN, _HELD = 20_000, 1000
# Without held-out shards this share of the examples is measured on.
_SHARE = 0.125

Array = NDArray[Any]


class TrialPlan(Struct, frozen=True):
    """The part of a plan on which its result depends (converter/plan_trial.py)."""

    rounds: int
    clients: int
    part: int
    epochs: int
    steps: int | None
    learning_rate: float
    units: bool
    alpha: float | None = None
    seconds: float = 60.0


class LearningCurve(Struct, frozen=True):
    """The measurements of a trial: rounds, loss and accuracy, the first before any training.

    `of` are the plan's rounds; `chance` is the accuracy of a guess, on `held` examples.
    """

    curve: list[tuple[int, float, float | None]]
    of: int
    steps: int = 0
    chance: float | None = None
    held: int = 0


def try_plan(
    bundle: Path,
    shards: Path,
    plan: TrialPlan,
    output: Path,
    supervision: Supervision = UNSUPERVISED,
) -> LearningCurve:
    """Trains the plan with simulated clients on `shards`; `output` is an existing folder for its files.

    Raises BundleError with a remedy, CancelledError, what the supervision raises, and SettingsError without
    TensorFlow.
    """
    converter = converter_process(LIMITS, supervision)
    manifest = parse_manifest((bundle / "bundle.json").read_bytes())
    with work_folder(output, ".trial-") as home:
        result = home / "made"
        result.mkdir()
        train, held = _examples(shards, manifest)
        data, asked = home / "data.npz", home / "plan.json"
        np.savez(data, **train, **{f"held_{name}": array for name, array in held.items()})
        asked.write_bytes(msgspec.json.encode(plan))
        arguments = [str(bundle.resolve()), "-o", str(result), "--data", str(data), "--plan", str(asked)]
        remedy = "use a smaller model or fewer steps"
        converter.run("The trial of the plan", remedy, "converter.plan_trial", arguments, home)
        report = read_report(result, LearningCurve, "The trial")
    return msgspec.structs.replace(report, chance=chance(train.get("y_0")), held=len(held["x_0"]))


def _examples(shards: Path, manifest: Manifest) -> tuple[dict[str, Array], dict[str, Array]]:
    """Returns examples to train and to measure on, as the graphs take them. Raises BundleError."""
    try:
        index = msgspec.json.decode((shards / INDEX).read_bytes(), type=ShardIndex)
        train = read_examples(manifest, (shards / shard.file for shard in index.train), _TRAIN)
        held = read_examples(manifest, (shards / shard.file for shard in index.holdout), _HELD)
    except (OSError, msgspec.DecodeError) as error:
        raise BundleError(f"The shards cannot be read ({error}); cut the data again.") from error
    if not train:
        raise BundleError("There are no examples to train on; cut the data again.")
    if not held:
        count = max(1, round(_SHARE * len(train["x_0"])))
        held = {name: array[:count] for name, array in train.items()}
        train = {name: array[count:] if len(array) > count else array for name, array in train.items()}
    return train, held
