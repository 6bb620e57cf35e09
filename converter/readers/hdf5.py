"""Opens untrusted HDF5 files after a check of every link, dataset and filter in them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from converter.refusal import Refusal

MAX_OBJECTS = 200_000
MAX_DEPTH = 64
MAX_NAMES = 100_000
# A dataset that claims this many times its stored size is meant to exhaust memory.
BOMB_BYTES = 64 << 20
BOMB_RATIO = 1000
FILTERS = (h5py.h5z.FILTER_DEFLATE, h5py.h5z.FILTER_SHUFFLE, h5py.h5z.FILTER_FLETCHER32, h5py.h5z.FILTER_LZF)


@contextmanager
def open_h5(path: Path, max_bytes: int) -> Iterator[Any]:
    """Yields the checked file.

    Raises Refusal at links, external or virtual data, unknown filters and too much data.
    """
    try:
        with h5py.File(path, "r") as file:
            _check(file, path.name, max_bytes)
            yield file
    except (OSError, RuntimeError, KeyError, ValueError, TypeError, UnicodeError) as error:
        raise Refusal(f"{path.name} is damaged or no Keras file in HDF5; save the model again.") from error


def _check(file: Any, name: str, max_bytes: int) -> None:
    seen, total = set(), 0
    stack = [(file, 0)]
    while stack:
        group, depth = stack.pop()
        for key in group:
            if not isinstance(group.get(key, getlink=True), h5py.HardLink):
                raise Refusal(
                    f"{name}: {_short(key)} is a link to elsewhere; save the model again with Keras."
                )
            child = group[key]
            address = h5py.h5o.get_info(child.id).addr
            if address in seen:
                continue
            seen.add(address)
            if len(seen) > MAX_OBJECTS or depth > MAX_DEPTH:
                raise Refusal(f"{name} holds too many or too deeply nested groups; save the model again.")
            if isinstance(child, h5py.Group):
                stack.append((child, depth + 1))
            elif isinstance(child, h5py.Dataset):
                total += _bytes(child, f"{name}: {_short(child.name)}")
                if total > max_bytes:
                    raise Refusal(
                        f"{name} holds over {max_bytes} bytes, over the limit; train a smaller model."
                    )


def _bytes(dataset: Any, place: str) -> int:
    if dataset.dtype.kind not in "fiub":
        raise Refusal(f"{place} holds {dataset.dtype}, no numbers; save the model again with Keras.")
    if dataset.external or dataset.is_virtual:
        raise Refusal(f"{place} keeps its values in another file; save the model again with Keras.")
    settings = dataset.id.get_create_plist()
    if any(settings.get_filter(i)[0] not in FILTERS for i in range(settings.get_nfilters())):
        raise Refusal(f"{place} is packed with an unknown filter; save it uncompressed or with gzip.")
    size: int = math.prod(dataset.shape or ()) * dataset.dtype.itemsize
    chunk: int = math.prod(dataset.chunks or ()) * dataset.dtype.itemsize
    if max(size, chunk) > max(BOMB_BYTES, BOMB_RATIO * dataset.id.get_storage_size()):
        raise Refusal(f"{place} claims {size} bytes but holds next to none; save the model again with Keras.")
    return max(size, chunk)


def text_attribute(group: Any, key: str) -> str | None:
    """Returns a text attribute, or None where there is none."""
    if key not in group.attrs:
        return None
    value = group.attrs[key]
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def names_attribute(group: Any, key: str) -> list[str]:
    """Returns a list of names; Keras splits long ones into `key0`, `key1`, ..."""
    parts = [key] if key in group.attrs else []
    while f"{key}{len(parts)}" in group.attrs and parts != [key]:
        parts.append(f"{key}{len(parts)}")
    if sum(math.prod(group.attrs.get_id(part).shape) for part in parts) > MAX_NAMES:
        raise Refusal(f"{_short(group.name)} lists too many weights; save the model again with Keras.")
    values = [value for part in parts for value in np.ravel(group.attrs[part])]
    return [v.decode("utf-8") if isinstance(v, bytes) else str(v) for v in values]


def _short(text: str) -> str:
    return repr(text)[:80]
