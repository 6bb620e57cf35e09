"""Zip files of strangers: members are read up to a limit and unpacked only below one folder."""

from __future__ import annotations

import stat
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO

from converter.refusal import Refusal

MAX_MEMBERS = 4096
BLOCK = 1 << 20


@contextmanager
def open_zip(path: Path, max_bytes: int) -> Iterator[zipfile.ZipFile]:
    """The archive. Raises Refusal where it is damaged, locked, or says it unpacks to over `max_bytes`."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            unpacked = sum(item.file_size for item in members)
            if len(members) > MAX_MEMBERS:
                raise Refusal(
                    f"{path.name} holds {len(members)} files, over the limit of {MAX_MEMBERS}; "
                    "zip only the model's own folder."
                )
            if unpacked > max_bytes:
                raise Refusal(
                    f"{path.name} unpacks to {unpacked} bytes, over the limit; train a smaller model."
                )
            yield archive
    except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, NotImplementedError, RuntimeError) as error:
        raise Refusal(
            f"{path.name} is damaged, or no zip file that can be read; save it again with model.save()."
        ) from error


def read_member(archive: zipfile.ZipFile, name: str, max_bytes: int) -> bytes:
    """One member's content; what unpacks to more than the directory says, or than `max_bytes`, is refused."""
    with archive.open(name) as file:
        content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise Refusal(
            f"{name} in the zip file unpacks to over {max_bytes} bytes, over the limit; save it again."
        )
    return content


def unpack(archive: zipfile.ZipFile, folder: Path, max_bytes: int) -> None:
    """Write every member below `folder`. Raises Refusal at links, foreign paths and more than `max_bytes`."""
    left = max_bytes
    for item in archive.infolist():
        target = folder.joinpath(*_parts(item))
        if item.is_dir():
            target.mkdir(parents=True, exist_ok=True)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        with archive.open(item) as source, target.open("xb") as copy:
            left -= copy_bounded(source, copy, left, item.filename)


def copy_bounded(source: IO[bytes], target: IO[bytes], left: int, name: str) -> int:
    """Copy at most `left` bytes and return how many. Raises Refusal where there are more."""
    copied = 0
    while block := source.read(BLOCK):
        copied += len(block)
        if copied > left:
            raise Refusal(f"{name} unpacks to more than is allowed, over the limit; train a smaller model.")
        target.write(block)
    return copied


def _parts(item: zipfile.ZipInfo) -> tuple[str, ...]:
    name = item.filename
    path = PurePosixPath(name)
    kind = item.external_attr >> 16
    plain = stat.S_IFMT(kind) in (0, stat.S_IFREG, stat.S_IFDIR)
    wrong = path.is_absolute() or ".." in path.parts or "\\" in name or ":" in name or len(name) > 500
    if wrong or not plain or not path.parts or "\0" in getattr(item, "orig_filename", name):
        raise Refusal(
            f"The zip file holds {name[:80]!r}, a link or a path that leads elsewhere; "
            "zip the model's folder again, with plain files only."
        )
    return path.parts
