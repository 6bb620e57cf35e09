"""Writes the inputs and outputs of a training step to one file, so that the step can be repeated.

The format is safetensors: the length of a JSON header (little-endian, 8 bytes), the header, then the raw
values. Reference: https://github.com/huggingface/safetensors, "Format".
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_DTYPES = {"float32": "F32", "int32": "I32"}
_ALIGNED = 8


def write_step(path: Path, arrays: Mapping[str, Any]) -> None:
    """Writes float32 and int32 arrays by name. Raises KeyError for another dtype."""
    header, offset = {}, 0
    for name, array in arrays.items():
        end = offset + array.nbytes
        header[name] = {
            "dtype": _DTYPES[str(array.dtype)],
            "shape": list(array.shape),
            "data_offsets": [offset, end],
        }
        offset = end
    text = json.dumps(header).encode()
    # The format allows padding with spaces; it aligns the values to multiples of 8 bytes.
    text += b" " * (-len(text) % _ALIGNED)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little"))
        file.write(text)
        for array in arrays.values():
            file.write(array.astype(array.dtype.newbyteorder("<")).tobytes())
