"""Inspects the arrays of an .npz file and proposes inputs and labels."""

from __future__ import annotations

import zipfile
import zlib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from backend.datasets.inspection.findings import Array, DataFindings, shown
from backend.datasets.inspection.model_input import ModelInput
from backend.datasets.readers.npz import NpzRows, open_npz
from backend.errors import DataError

_MAX_ARRAYS = 64
_CHUNK_ROWS = 4096
_INPUTS = ("x", "x_train", "images", "data", "features", "inputs")
_LABELS = ("y", "y_train", "labels", "targets", "classes")
_MAX_CLASSES = 1000


def inspect_arrays(path: Path, model_input: ModelInput) -> DataFindings:
    """Reads the headers, and the labels if they are integers. Raises DataError."""
    names = _names(path)
    unlabelled = not model_input.labels and (bool(model_input.inputs) or len(names) == 1)
    _check_number(names, len(model_input.inputs) if unlabelled else None)
    with open_npz(path, names) as arrays:
        pairs = zip(names, arrays, strict=True)
        arrays_found = [Array(shown(name), list(array.shape), str(array.dtype)) for name, array in pairs]
        kinds = {name: array.dtype for name, array in zip(names, arrays, strict=True)}
        rows = {name: array.shape[0] for name, array in zip(names, arrays, strict=True)}
    if unlabelled:
        inputs_chosen = _of_inputs(names, model_input)
        scale = _scale(kinds[inputs_chosen[0]], model_input)
        return _inputs_alone(inputs_chosen, _common_rows(inputs_chosen, rows), arrays_found, scale)
    x = _chosen(names, _INPUTS, ())
    y = _chosen(names, _LABELS, (x,))
    with open_npz(path, (x, y)) as (inputs, labels):
        if inputs.shape[0] != labels.shape[0]:
            raise DataError(
                f"'{x}' has {inputs.shape[0]:,} examples and '{y}' {labels.shape[0]:,}; both need as many."
            )
        examples, classes = inputs.shape[0], _count(labels)
        notes = [shown(f"'{x}' is taken as the input and '{y}' as the label.")]
        shape = list(inputs.shape[1:])
    if model_input.shape is not None and model_input.shape != shape:
        notes.append(f"An example of '{x}' has the shape {shape}, and the model takes {model_input.shape}.")
    preprocess = {"kind": "array", "x": [x], "y": [y], "scale": _scale(kinds[x], model_input)}
    return DataFindings("array", examples, classes, arrays=arrays_found, preprocess=preprocess, notes=notes)


def _inputs_alone(x: list[str], examples: int, found: list[Array], scale: float) -> DataFindings:
    """Returns the findings of arrays `x` without labels."""
    preprocess = {"kind": "array", "x": x, "y": [], "scale": scale}
    notes = [shown(f"There are no labels. Inputs: {', '.join(x)}.")]
    return DataFindings("array", examples, {}, arrays=found, preprocess=preprocess, notes=notes)


def _common_rows(names: list[str], rows: Mapping[str, int]) -> int:
    counts = {rows[name] for name in names}
    if len(counts) > 1:
        listed = shown(", ".join(f"'{name}' {rows[name]:,}" for name in names))
        raise DataError(f"The arrays hold different numbers of examples ({listed}); all need as many.")
    return counts.pop()


def _of_inputs(names: list[str], model_input: ModelInput) -> list[str]:
    """Returns the array of each input: those of the inputs' names, else the first ones of the file."""
    wanted = [spec.name for spec in model_input.inputs]
    return wanted if wanted and set(wanted) <= set(names) else names[: max(len(wanted), 1)]


def _scale(kind: np.dtype[Any], model_input: ModelInput) -> float:
    return 1 / 255 if kind == np.uint8 and not model_input.scales else 1.0


def _names(path: Path) -> list[str]:
    try:
        with zipfile.ZipFile(path) as archive:
            return [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
    except (OSError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise DataError(f"The file is damaged, or no .npz file ({error}); write it again.") from error


def _check_number(names: list[str], inputs: int | None) -> None:
    """Raises DataError for too few or too many arrays; `inputs` is their number where there are no labels."""
    least, needed = 2, "two are needed, one of inputs and one of labels"
    if inputs is not None:
        least, needed = max(inputs, 1), f"the model has {inputs} inputs"
    if not least <= len(names) <= _MAX_ARRAYS:
        raise DataError(f"The file has {len(names)} arrays; {needed}: numpy.savez(file, x=..., y=...).")


def _chosen(names: list[str], preferred: tuple[str, ...], taken: tuple[str, ...]) -> str:
    by_name = {name.lower(): name for name in names if name not in taken}
    return next((by_name[name] for name in preferred if name in by_name), next(iter(by_name.values())))


def _count(labels: NpzRows) -> dict[str, int]:
    """Counts the examples of each class; empty if the labels are no class numbers."""
    if len(labels.shape) != 1 or labels.dtype.kind not in "iu":
        return {}
    counts: Counter[int] = Counter()
    for _ in range(0, labels.shape[0], _CHUNK_ROWS):
        numbers, occurrences = np.unique(labels.take(_CHUNK_ROWS), return_counts=True)
        counts.update(dict(zip(numbers.tolist(), occurrences.tolist(), strict=True)))
        if len(counts) > _MAX_CLASSES:
            return {}
    return {str(number): counts[number] for number in sorted(counts)}
