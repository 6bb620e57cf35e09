"""Exports a draft as a zip file, streamed as it is written; `datasets.inspection.draft_zip` reads it."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

TASK, README = "task.toml", "README.md"
_BLOCK = 1 << 20
# A fixed time, so that equal drafts give equal bytes.
_EPOCH = (2000, 1, 1, 0, 0, 0)
_READABLE = 0o644 << 16


def zip_pieces(toml: str, readme: str, files: Sequence[tuple[str, Path | bytes]]) -> Iterator[bytes]:
    """Yields the zip in pieces of at most slightly more than 1 MiB.

    `files` are names with a path or the content. The call opens the files, so that a later replacement does
    not matter. Nothing is compressed: the files are models, zips and tables.
    """
    with ExitStack() as stack:
        opened = [(name, stack.enter_context(_opened(file))) for name, file in files]
        exit_stack = stack.pop_all()
    return _pieces(toml, readme, opened, exit_stack)


def _opened(file: Path | bytes) -> BinaryIO:
    return io.BytesIO(file) if isinstance(file, bytes) else file.open("rb")


def _pieces(
    toml: str, readme: str, files: Sequence[tuple[str, BinaryIO]], stack: ExitStack
) -> Iterator[bytes]:
    sink = _Sink()
    with stack, zipfile.ZipFile(sink, "w") as archive:
        for name, text in ((TASK, toml), (README, readme)):
            archive.writestr(_member(name), text)
        for name, file in files:
            with archive.open(_member(name), "w", force_zip64=True) as place:
                while block := file.read(_BLOCK):
                    place.write(block)
                    yield sink.take()
    yield sink.take()


def _member(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _EPOCH)
    info.external_attr = _READABLE
    return info


class _Sink(io.RawIOBase):
    """A write-only file that returns and clears the bytes written since the last call of `take`."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def writable(self) -> bool:
        """Returns True; without `seek` and `tell`, zipfile writes lengths behind the bytes."""
        return True

    def write(self, data: object) -> int:
        """Appends bytes."""
        block = bytes(memoryview(data))  # type: ignore[arg-type]  # Any object with a buffer.
        self._buffer += block
        return len(block)

    def take(self) -> bytes:
        """Returns the bytes written since the last call."""
        block = bytes(self._buffer)
        self._buffer.clear()
        return block
