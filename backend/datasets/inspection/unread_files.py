"""Names the files of a folder or zip that are not read, with what to do about them."""

from __future__ import annotations

from collections.abc import Iterator

from backend.datasets.inspection.findings import shown
from backend.datasets.readers.files import Files
from backend.datasets.readers.recordings import CONVERT, OTHER_SUFFIXES

_HEIC = (".heic", ".heif", ".hif")
_PICTURES = (
    *_HEIC,
    ".avif",
    ".tif",
    ".tiff",
    ".jp2",
    ".jxl",
    ".svg",
    ".psd",
    ".dng",
    ".cr2",
    ".cr3",
    ".nef",
    ".arw",
)
_ARCHIVES = (".zip", ".rar", ".7z", ".tar", ".gz", ".tgz")
_SHOWN = 100


def unread_pictures(files: Files) -> Iterator[str]:
    """Yields a sentence on pictures in formats that cannot be read, if there are any."""
    heic = _ending(files, _HEIC)
    if heic:
        yield (
            f"{_named(heic)} HEIC, which many browsers cannot read, so they are left out: save them as JPEG "
            "(on an iPhone: Settings, Camera, Formats, Most Compatible)."
        )
    others = [name for name in _ending(files, _PICTURES) if name not in heic]
    if others:
        yield (
            f"{_named(others)} of a kind that browsers do not read alike, so they are left out: save them as "
            "PNG or JPEG."
        )


def unread_recordings(files: Files) -> Iterator[str]:
    """Yields a sentence on recordings that are not WAV, if there are any."""
    others = _ending(files, OTHER_SUFFIXES)
    if others:
        yield f"{_named(others)} not WAV, so they are left out. {CONVERT}."


def unread_archives(files: Files) -> Iterator[str]:
    """Yields a sentence on archives within the file, if there are any."""
    inner = _ending(files, _ARCHIVES)
    if inner:
        yield (
            f"{_named(inner)} packed once more and not opened: unpack them, and zip the folders of all "
            "classes as one zip."
        )


def _ending(files: Files, suffixes: tuple[str, ...]) -> list[str]:
    return [name for name in files.names if name.lower().endswith(suffixes)]


def _named(names: list[str]) -> str:
    first = shown(names[0][:_SHOWN])
    return f"{first} is" if len(names) == 1 else f"{first} and {len(names) - 1:,} more are"
