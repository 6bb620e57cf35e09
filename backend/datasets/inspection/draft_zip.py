"""Unpacks the zip of an exported draft: only its known parts, each within a size limit."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

from backend.datasets.readers.files import check_member
from backend.errors import DataError

TEXT_BYTES = 1 << 18
MAX_PARTS = 4
_PART = re.compile(r"(task)\.toml|(README)\.md|(model|data)\.[a-z0-9]{1,8}")
_BLOCK = 1 << 20


def unpack(path: Path, folder: Path, max_bytes: Mapping[str, int]) -> list[str]:
    """Writes task.toml, README.md, and the zip's model and data files to `folder`; returns their names.

    `max_bytes` limits the parts `model` and `data`. Raises DataError if the zip contains anything else.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            parts = archive.infolist()
            limits = _limits(path, parts, max_bytes)
            for item in parts:
                check_member(path, item)
                _write(archive, item, folder / item.filename, limits[item.filename])
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError, RuntimeError) as error:
        raise DataError(f"{path} is damaged or not a zip file ({error}); export the draft again.") from error
    return sorted(limits)


def _limits(path: Path, parts: list[zipfile.ZipInfo], max_bytes: Mapping[str, int]) -> dict[str, int]:
    """Returns the maximum length of each part by file name."""
    limits: dict[str, int] = {}
    kinds = set[str]()
    for item in parts:
        match = _PART.fullmatch(item.filename)
        kind = next(filter(None, match.groups()), "") if match else ""
        if not kind or kind in kinds or len(parts) > MAX_PARTS:
            raise DataError(
                f"{path} holds {item.filename[:80]!r}, which is no part of an exported draft, or is there "
                "twice. It may hold task.toml, README.md, a model and data, at its top."
            )
        kinds.add(kind)
        limits[item.filename] = max_bytes.get(kind, TEXT_BYTES)
    if "task" not in kinds:
        raise DataError(f"{path} holds no task.toml at its top; zip the files, not their folder.")
    return limits


def _write(archive: zipfile.ZipFile, item: zipfile.ZipInfo, target: Path, limit: int) -> None:
    """Unpacks one part; raises DataError as soon as it exceeds `limit`, whatever size its header claims."""
    remaining = limit
    with archive.open(item) as source, target.open("xb") as file:
        while block := source.read(_BLOCK):
            remaining -= len(block)
            if remaining < 0:
                raise DataError(f"{item.filename} in it has over {limit:,} bytes, as much as it may.")
            file.write(block)
