"""Reads and writes the files of a task's picture, which lie beside its task file."""

from __future__ import annotations

import shutil
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct

from backend.stores.error_translation import translated
from backend.translation import later

NOTHING_UPLOADED = later("No picture was uploaded for this task yet. Choose a file.")
CHOICE, UPLOADED = "picture.json", "picture.webp"
_MAX_UPLOADED_BYTES, _MAX_CHOICE_BYTES = 2 << 20, 4 << 10

PictureKind: TypeAlias = Literal["drawn", "uploaded", "woven"]
AlternativeText: TypeAlias = Annotated[str, Meta(max_length=300)]


class PictureChoice(Struct, frozen=True):
    """What an owner chose; `sha256` is that of the uploaded file, and empty without one."""

    kind: PictureKind | None = None
    text: AlternativeText = ""
    sha256: str = ""


def read_choice(folder: Path) -> PictureChoice:
    """Reads the choice in a task's folder; an empty one where there is none that can be read."""
    path = folder / CHOICE
    try:
        state = path.stat()
        return _decoded(path, state.st_mtime_ns, state.st_size)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return PictureChoice()


def read_uploaded(folder: Path) -> bytes:
    """Reads the uploaded picture of a task. Raises StoreError."""
    with translated("The task's picture cannot be read"), (folder / UPLOADED).open("rb") as file:
        return file.read(_MAX_UPLOADED_BYTES)


def write_picture(folder: Path, choice: PictureChoice, uploaded: bytes | None = None) -> None:
    """Writes the choice, and the uploaded picture before it. Raises StoreError."""
    with translated("The task's picture cannot be written"):
        # A server that is killed between the two shows the new picture under the old tag.
        if uploaded is not None:
            _replace(folder / UPLOADED, uploaded)
        _replace(folder / CHOICE, msgspec.json.encode(choice))


def copy_picture(source: Path, target: Path) -> None:
    """Copies the picture of the task in the folder `source`, if its owner chose one. Raises OSError."""
    for name in (UPLOADED, CHOICE):
        with suppress(FileNotFoundError):
            shutil.copyfile(source / name, target / name)


@lru_cache(maxsize=256)
def _decoded(path: Path, _modified: int, size: int) -> PictureChoice:
    if size > _MAX_CHOICE_BYTES:
        return PictureChoice()
    return msgspec.json.decode(path.read_bytes(), type=PictureChoice)


def _replace(path: Path, content: bytes) -> None:
    """Writes the file in one step, so that a killed server leaves the old or the new one."""
    new = path.with_name(f".{path.name}.new")
    new.write_bytes(content)
    new.replace(path)
