"""Reads untrusted zip files: members up to a size limit, unpacked only below one folder."""

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
    """Yields the archive.

    Raises Refusal where it is damaged, encrypted, or declares to unpack to over `max_bytes`.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            unpacked_bytes = sum(item.file_size for item in members)
            if len(members) > MAX_MEMBERS:
                raise Refusal(
                    f"{path.name} holds {len(members)} files, over the limit of {MAX_MEMBERS}; "
                    "zip only the model's own folder."
                )
            if unpacked_bytes > max_bytes:
                raise Refusal(
                    f"{path.name} unpacks to {unpacked_bytes} bytes, over the limit; train a smaller model."
                )
            yield archive
    except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, NotImplementedError, RuntimeError) as error:
        raise Refusal(
            f"{path.name} is damaged, or no zip file that can be read; save it again with model.save()."
        ) from error


def read_member(archive: zipfile.ZipFile, name: str, max_bytes: int) -> bytes:
    """Returns a member's content. Raises Refusal if it unpacks to over `max_bytes`."""
    with archive.open(name) as file:
        content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise Refusal(
            f"{name} in the zip file unpacks to over {max_bytes} bytes, over the limit; save it again."
        )
    return content


def unpack(archive: zipfile.ZipFile, folder: Path, max_bytes: int) -> None:
    """Writes every member below `folder`. Raises Refusal at links, unsafe paths and over `max_bytes`."""
    remaining = max_bytes
    for item in archive.infolist():
        target = folder.joinpath(*_parts(item))
        if item.is_dir():
            target.mkdir(parents=True, exist_ok=True)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        with archive.open(item) as source, target.open("xb") as copy:
            remaining -= copy_bounded(source, copy, remaining, item.filename)


def copy_bounded(source: IO[bytes], target: IO[bytes], max_bytes: int, name: str) -> int:
    """Copies at most `left` bytes and returns the count. Raises Refusal where there are more."""
    copied = 0
    while block := source.read(BLOCK):
        copied += len(block)
        if copied > max_bytes:
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
            f"The zip file holds {name[:80]!r}, a link, or a path outside the zip file; zip the model's "
            f"folder again, with plain files only."
        )
    return path.parts
