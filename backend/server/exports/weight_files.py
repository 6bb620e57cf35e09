"""The weights of a version by name, in files that need no model: safetensors and NumPy's npz."""

from __future__ import annotations

import json
import math
import shutil
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from backend.formats.manifest import Variable

# The earliest moment that a zip file can name: the same weights give the same bytes on every day.
_EPOCH = (1980, 1, 1, 0, 0, 0)

Layout = Sequence[Variable]
About = Mapping[str, str]


def write_safetensors(weights: Path, layout: Layout, about: About, target: Path) -> None:
    """Hugging Face's safetensors: a header, then the values as they lie in the flat vector `weights`.

    `about` is free text of the header.
    """
    header: dict[str, object] = {"__metadata__": dict(about)}
    for name, one in zip(unique_names(layout), layout, strict=True):
        begin = 4 * one.offset
        end = begin + 4 * math.prod(one.shape)
        header[name] = {"dtype": "F32", "shape": one.shape, "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with target.open("wb") as file, weights.open("rb") as values:
        file.write(len(text).to_bytes(8, "little") + text)
        shutil.copyfileobj(values, file, 1 << 20)


def write_npz(weights: Path, layout: Layout, _about: About, target: Path) -> None:
    """NumPy's: an array for each variable."""
    vector = np.memmap(weights, "<f4", "r")
    with zipfile.ZipFile(target, "w") as packed:
        for name, one in zip(unique_names(layout), layout, strict=True):
            values = vector[one.offset : one.offset + math.prod(one.shape)].reshape(one.shape)
            with packed.open(zipfile.ZipInfo(f"{name}.npy", _EPOCH), "w", force_zip64=True) as place:
                np.save(place, values, allow_pickle=False)


def unique_names(layout: Layout) -> list[str]:
    """The variables' names, with a number behind one that came before."""
    counts: dict[str, int] = {}
    names = []
    for one in layout:
        count = counts[one.name] = counts.get(one.name, 0) + 1
        names.append(one.name if count == 1 else f"{one.name}_{count - 1}")
    return names


WRITERS: dict[str, Callable[[Path, Layout, About, Path], None]] = {
    "safetensors": write_safetensors,
    "npz": write_npz,
}
