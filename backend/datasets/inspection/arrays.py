"""The arrays of an .npz file."""

from __future__ import annotations

import zipfile
import zlib
from collections import Counter
from pathlib import Path

import numpy as np

from backend.datasets.inspection.findings import Array, DataFindings, shown
from backend.datasets.inspection.model_input import ModelInput
from backend.datasets.readers.npz import NpzRows, open_npz
from backend.errors import DataError

_MOST_ARRAYS = 64
_AT_ONCE = 4096
_INPUTS = ("x", "x_train", "images", "data", "features", "inputs")
_LABELS = ("y", "y_train", "labels", "targets", "classes")
_MOST_CLASSES = 1000


def inspect_arrays(path: Path, wanted: ModelInput) -> DataFindings:
    """Reads headers, and the labels where they are whole numbers. Raises DataError."""
    names = _names(path)
    with open_npz(path, names) as arrays:
        pairs = zip(names, arrays, strict=True)
        told = [Array(shown(name), list(one.shape), str(one.dtype)) for name, one in pairs]
        kinds = {name: one.dtype for name, one in zip(names, arrays, strict=True)}
    x = _chosen(names, _INPUTS, ())
    y = _chosen(names, _LABELS, (x,))
    with open_npz(path, (x, y)) as (inputs, labels):
        if inputs.shape[0] != labels.shape[0]:
            raise DataError(
                f"'{x}' has {inputs.shape[0]:,} examples and '{y}' {labels.shape[0]:,}; both need as many."
            )
        examples, classes = inputs.shape[0], _count(labels)
        notes = [shown(f"'{x}' is taken as what goes in and '{y}' as what is to come out.")]
        shape = list(inputs.shape[1:])
    if wanted.shape is not None and wanted.shape != shape:
        notes.append(f"An example of '{x}' has the shape {shape}, and the model takes {wanted.shape}.")
    scale = 1 / 255 if kinds[x] == np.uint8 and not wanted.scales else 1.0
    preprocess = {"kind": "array", "x": [x], "y": [y], "scale": scale}
    return DataFindings("array", examples, classes, arrays=told, preprocess=preprocess, notes=notes)


def _names(path: Path) -> list[str]:
    try:
        with zipfile.ZipFile(path) as archive:
            found = [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
    except (OSError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise DataError(f"The file is damaged, or no .npz file ({error}); write it again.") from error
    if not 2 <= len(found) <= _MOST_ARRAYS:
        raise DataError(
            f"The file has {len(found)} arrays; two are needed, one of inputs and one of labels: "
            "numpy.savez(file, x=..., y=...)."
        )
    return found


def _chosen(names: list[str], usual: tuple[str, ...], taken: tuple[str, ...]) -> str:
    by_name = {name.lower(): name for name in names if name not in taken}
    return next((by_name[name] for name in usual if name in by_name), next(iter(by_name.values())))


def _count(labels: NpzRows) -> dict[str, int]:
    """Examples of each class; empty where the labels are no class numbers."""
    if len(labels.shape) != 1 or labels.dtype.kind not in "iu":
        return {}
    counts: Counter[int] = Counter()
    for _ in range(0, labels.shape[0], _AT_ONCE):
        numbers, found = np.unique(labels.take(_AT_ONCE), return_counts=True)
        counts.update(dict(zip(numbers.tolist(), found.tolist(), strict=True)))
        if len(counts) > _MOST_CLASSES:
            return {}
    return {str(number): counts[number] for number in sorted(counts)}
