"""Writes archives of NumPy and what is stored of them: python -m tests.contract.vectors.data.make_npz."""

from __future__ import annotations

import base64
import io
import json
from typing import Any

import numpy as np

from tests.contract.vectors import write

STORED = {"b": "uint8", "u": "int32", "i": "int32", "f": "float32"}


def files() -> dict[str, str]:
    """The content of each file."""
    cases = [case(packed) for packed in (False, True)]
    return {"preprocess/npz.json": "[\n" + ",\n".join(map(json.dumps, cases)) + "\n]\n"}


def arrays() -> dict[str, Any]:
    """Arrays of every dtype that is read, of one to three dimensions, in both orders."""
    whole = np.arange(-12, 12).reshape(4, 3, 2)
    return {
        "bool": np.array([True, False, True]),
        "uint8": np.arange(250, 256, dtype=np.uint8).reshape(3, 2),
        **{name: whole.astype(name) for name in ("int8", "int16", "int32", "int64")},
        **{name: np.abs(whole).astype(name) for name in ("uint16", "uint32", "uint64")},
        "float16": np.array([0, -0.5, 6e-8, 65504, 1 / 3], np.float16),
        "float32": np.array([[0.1, -1e30]], np.float32),
        "float64": np.array([1 / 3, 1e-3]),
        "columns_first": np.asfortranarray(whole.astype(np.int32)),
    }


def case(packed: bool) -> dict[str, Any]:
    """One archive and its arrays."""
    content = io.BytesIO()
    save = np.savez_compressed if packed else np.savez
    save(content, **arrays())
    stored = {name: array.astype(stored_as(array)) for name, array in arrays().items()}
    return {
        "packed": packed,
        "npz": base64.b64encode(content.getvalue()).decode(),
        "arrays": {
            name: {"shape": list(a.shape), "dtype": a.dtype.name, "values": a.reshape(-1).tolist()}
            for name, a in stored.items()
        },
    }


def stored_as(array: Any) -> str:
    """The dtype of the stored values."""
    return "uint8" if array.dtype == np.uint8 else STORED[array.dtype.kind]


if __name__ == "__main__":
    write(files())
