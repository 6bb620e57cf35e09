"""A draft as one zip file, written as it is sent: what `datasets.inspection.draft_zip` reads again."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

TASK, README = "task.toml", "README.md"
_BLOCK = 1 << 20
# The same draft gives the same bytes.
_EPOCH = (2000, 1, 1, 0, 0, 0)
_READABLE = 0o644 << 16


def zip_pieces(toml: str, readme: str, files: Sequence[tuple[str, Path | bytes]]) -> Iterator[bytes]:
    """The zip piece by piece, of at most a MiB and a little more each; `files` are names
    and where they lie, or what is in them.

    Files are opened at the call, so that what replaces them later does no harm. They are models, zips and
    tables: nothing is compressed.
    """
    with ExitStack() as stack:
        opened = [(name, stack.enter_context(_opened(file))) for name, file in files]
        kept = stack.pop_all()
    return _pieces(toml, readme, opened, kept)


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
                    yield sink.taken()
    yield sink.taken()


def _member(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _EPOCH)
    info.external_attr = _READABLE
    return info


class _Sink(io.RawIOBase):
    """A file that only grows, and hands over what was written since."""

    def __init__(self) -> None:
        self._waiting = bytearray()

    def writable(self) -> bool:
        """Yes; `seek` and `tell` it has not, so that zipfile writes lengths behind the bytes."""
        return True

    def write(self, data: object) -> int:
        """Takes bytes."""
        block = bytes(memoryview(data))  # type: ignore[arg-type]  # Whatever has a buffer.
        self._waiting += block
        return len(block)

    def taken(self) -> bytes:
        """What came since the last call."""
        block = bytes(self._waiting)
        self._waiting.clear()
        return block
