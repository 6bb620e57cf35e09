"""Writes a version's weights by name into files that need no model: safetensors and NumPy's npz."""

from __future__ import annotations

import json
import math
import shutil
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from backend.formats.manifest import Variable

# The earliest time of a zip entry; it is fixed so that the same weights always give the same bytes.
_EPOCH = (1980, 1, 1, 0, 0, 0)

Layout = Sequence[Variable]
About = Mapping[str, str]


def write_safetensors(weights: Path, layout: Layout, about: About, target: Path) -> None:
    """Writes Hugging Face's safetensors: a header, then the values of the flat vector `weights`.

    `about` is free text of the header.
    """
    header: dict[str, object] = {"__metadata__": dict(about)}
    for name, variable in zip(unique_names(layout), layout, strict=True):
        begin = 4 * variable.offset
        end = begin + 4 * math.prod(variable.shape)
        header[name] = {"dtype": "F32", "shape": variable.shape, "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with target.open("wb") as file, weights.open("rb") as values:
        file.write(len(text).to_bytes(8, "little") + text)
        shutil.copyfileobj(values, file, 1 << 20)


def write_npz(weights: Path, layout: Layout, _about: About, target: Path) -> None:
    """Writes NumPy's npz: an array for each variable."""
    vector = np.memmap(weights, "<f4", "r")
    with zipfile.ZipFile(target, "w") as archive:
        for name, variable in zip(unique_names(layout), layout, strict=True):
            values = vector[variable.offset : variable.offset + math.prod(variable.shape)].reshape(
                variable.shape
            )
            with archive.open(zipfile.ZipInfo(f"{name}.npy", _EPOCH), "w", force_zip64=True) as entry:
                np.save(entry, values, allow_pickle=False)


def unique_names(layout: Layout) -> list[str]:
    """Returns the variables' names; a repeated name gets a number as suffix."""
    counts: dict[str, int] = {}
    names = []
    for variable in layout:
        count = counts[variable.name] = counts.get(variable.name, 0) + 1
        names.append(variable.name if count == 1 else f"{variable.name}_{count - 1}")
    return names


WRITERS: dict[str, Callable[[Path, Layout, About, Path], None]] = {
    "safetensors": write_safetensors,
    "npz": write_npz,
}
