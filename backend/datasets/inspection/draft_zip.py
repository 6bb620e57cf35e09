"""A zip of a whole draft that somebody brings: only its known parts are read, each within a length."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

from backend.datasets.readers.files import check_member
from backend.errors import DataError

TEXT_BYTES = 1 << 18
MOST_PARTS = 4
_PART = re.compile(r"(task)\.toml|(README)\.md|(model|data)\.[a-z0-9]{1,8}")
_BLOCK = 1 << 20


def unpack(path: Path, folder: Path, most: Mapping[str, int]) -> list[str]:
    """Writes task.toml, README.md, and the model's and data's file of the zip into `folder`; their names.

    `most` are the bytes that `model` and `data` may have. Raises DataError for anything but such parts.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            parts = archive.infolist()
            limits = _limits(path, parts, most)
            for item in parts:
                check_member(path, item)
                _write(archive, item, folder / item.filename, limits[item.filename])
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError, RuntimeError) as error:
        raise DataError(f"{path} is damaged, or no zip file ({error}); export the draft again.") from error
    return sorted(limits)


def _limits(path: Path, parts: list[zipfile.ZipInfo], most: Mapping[str, int]) -> dict[str, int]:
    """How long each part may be, by its name."""
    found: dict[str, int] = {}
    kinds = set[str]()
    for item in parts:
        match = _PART.fullmatch(item.filename)
        kind = next(filter(None, match.groups()), "") if match else ""
        if not kind or kind in kinds or len(parts) > MOST_PARTS:
            raise DataError(
                f"{path} holds {item.filename[:80]!r}, which is no part of an exported draft, or is there "
                "twice. It may hold task.toml, README.md, a model and data, at its top."
            )
        kinds.add(kind)
        found[item.filename] = most.get(kind, TEXT_BYTES)
    if "task" not in kinds:
        raise DataError(f"{path} holds no task.toml at its top; zip the files, not their folder.")
    return found


def _write(archive: zipfile.ZipFile, item: zipfile.ZipInfo, target: Path, most: int) -> None:
    """What unpacks to more than it says, or than it may, ends here, however little it was packed."""
    left = most
    with archive.open(item) as source, target.open("xb") as file:
        while block := source.read(_BLOCK):
            left -= len(block)
            if left < 0:
                raise DataError(f"{item.filename} in it has over {most:,} bytes, as much as it may.")
            file.write(block)
