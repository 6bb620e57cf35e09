"""Measures signs of a backdoor in a model in a sandboxed process: the file may come from anybody."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from msgspec import Meta, Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from backend.errors import BundleError
from backend.numerics.integrity.integrity_score import (
    IntegrityPart,
    IntegrityScore,
    combined_score,
    drift_part,
    trigger_part,
    updates_part,
)
from backend.server.sandbox.converter_process import converter_process, read_report
from backend.server.sandbox.limited_process import UNSUPERVISED, ProcessLimits, Supervision
from backend.server.sandbox.work_folder import work_folder

LIMITS = ProcessLimits(wall_seconds=900.0, cpu_seconds=1200)
_Class = Annotated[int, Meta(ge=0)]
_MODULE, _WHAT = "converter.integrity", "The integrity check"


class IntegrityMeasurement(Struct, frozen=True):
    """The figures of converter/integrity: answers of `classes`, and norms of triggers [classes].

    `answers` are rows of true class, answer, and how often it was given. `norms` is None where no trigger
    could be searched; `unmeasured` says why.
    """

    classes: Annotated[int, Meta(ge=2, le=2000)]
    answers: list[tuple[_Class, _Class, Annotated[int, Meta(ge=1, le=1 << 31)]]]
    norms: list[float] | None = None
    unmeasured: str = ""

    @property
    def counts(self) -> NDArray[np.int64]:
        """The confusion matrix [true class, answer]. Raises ValueError for a class that there is not."""
        counts = np.zeros((self.classes, self.classes), np.int64)
        for true, answer, count in self.answers:
            if max(true, answer) >= self.classes:
                raise ValueError(f"There are {self.classes} classes, from 0 on.")
            counts[true, answer] += count
        return counts


def measure_integrity(
    model: Path,
    examples: Mapping[str, NDArray[Any]],
    output: Path,
    weights: Path | None = None,
    supervision: Supervision = UNSUPERVISED,
) -> IntegrityMeasurement:
    """Measures a model file, or a bundle's model.keras with the flat vector in `weights`.

    `examples` are `x_0`, ... as the model takes them and `y_0`; `output` is a folder for temporary files.
    Raises BundleError with the reason why the model or the examples cannot be used, CancelledError, what the
    supervision raises, and SettingsError without TensorFlow.
    """
    converter = converter_process(LIMITS, supervision)
    with work_folder(output, ".integrity-") as home:
        result = home / "made"
        result.mkdir()
        np.savez(home / "data.npz", **examples)
        file = model.resolve()
        if weights is not None:
            # The converter recognises formats by their suffixes, which blobs do not have.
            file = home / "model.keras"
            shutil.copyfile(model, file)
        arguments = [str(file), "--data", str(home / "data.npz"), "-o", str(result)]
        if weights is not None:
            arguments += ["--weights", str(weights.resolve())]
        converter.run(_WHAT, "use fewer examples or a smaller model", _MODULE, arguments, home)
        return read_report(result, IntegrityMeasurement, _WHAT)


def without_triggers(measured: IntegrityMeasurement) -> IntegrityMeasurement:
    """Returns a measurement of which only the answers are compared with those of another version.

    Smallest triggers change in clean trainings, too, so that they are compared only with another sign.
    """
    return replace(measured, norms=None)


def score_integrity(
    measured: IntegrityMeasurement,
    against: IntegrityMeasurement | None = None,
    updates: NDArray[np.float32] | None = None,
    names: Sequence[str] = (),
    is_cleared: bool = False,
) -> IntegrityScore:
    """Scores a measurement, beside one of another version and the updates [n, parameters] if there are any.

    `names` are those of the classes. `is_cleared` says whether the other version passed a check. Raises
    BundleError for measurements that do not fit each other or updates that are not finite.
    """
    try:
        before = None if against is None else against.norms
        trigger = (
            IntegrityPart("trigger", None, measured.unmeasured or "No trigger was searched.")
            if measured.norms is None
            else trigger_part(measured.norms, before, names)
        )
        drift = drift_part(measured.counts, None if against is None else against.counts, names, is_cleared)
        parts = [trigger, drift]
        if updates is not None:
            parts.append(updates_part(updates))
    except ValueError as error:
        raise BundleError(f"The integrity of this model cannot be scored: {error}") from error
    return combined_score(parts)
