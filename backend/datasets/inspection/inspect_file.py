"""Detects the kind of data in a file and inspects them accordingly."""

from __future__ import annotations

from pathlib import Path

from backend.datasets.inspection.arrays import inspect_arrays
from backend.datasets.inspection.findings import MAX_NOTES, DataFindings
from backend.datasets.inspection.images import inspect_pictures
from backend.datasets.inspection.model_input import ModelInput
from backend.datasets.inspection.recordings import inspect_recordings
from backend.datasets.inspection.tables import inspect_table
from backend.datasets.inspection.texts import inspect_texts
from backend.datasets.inspection.unread_files import unread_archives, unread_pictures, unread_recordings
from backend.datasets.readers.columnar import COLUMNAR
from backend.datasets.readers.files import Files, list_files
from backend.datasets.readers.images import SUFFIXES
from backend.datasets.readers.recordings import CONVERT, OTHER_SUFFIXES, WAV_SUFFIXES
from backend.errors import DataError

TABLES = (".csv", ".tsv", *COLUMNAR)
TEXTS = (".txt", ".md")


def inspect_file(path: Path, model_input: ModelInput, folder: Path) -> DataFindings:
    """Inspects the file at `path`; thumbnails are written to `folder`. Raises DataError."""
    suffix = path.suffix.lower()
    if suffix == ".npz":
        return inspect_arrays(path, model_input)
    if suffix in TABLES:
        return inspect_table(path, model_input)
    files = list_files(path)
    if suffix in TEXTS:
        return inspect_texts(files, model_input)
    if _count(files, SUFFIXES):
        findings = inspect_pictures(files.ending(*SUFFIXES), model_input, folder)
        unread = [*unread_pictures(files), *unread_archives(files)]
        findings.notes = [*unread, *findings.notes][:MAX_NOTES]
        return findings
    if _count(files, WAV_SUFFIXES):
        findings = inspect_recordings(files.ending(*WAV_SUFFIXES), model_input, folder)
        unread = [*unread_recordings(files), *unread_archives(files)]
        findings.notes = [*unread, *findings.notes][:MAX_NOTES]
        return findings
    if _count(files, OTHER_SUFFIXES):
        raise DataError(f"The zip holds recordings, but none in WAV, and only WAV is read here. {CONVERT}.")
    if _count(files, TEXTS):
        return inspect_texts(files.ending(*TEXTS), model_input)
    if _count(files, (*TABLES, ".npz")):
        raise DataError("The zip holds a table or arrays; bring that file itself, without a zip around it.")
    unread = [*unread_pictures(files), *unread_archives(files)]
    if unread:
        raise DataError(" ".join(["The zip holds no picture or text that can be read.", *unread]))
    raise DataError(
        "The zip holds no pictures, texts or recordings: put pictures (.jpg, .png, .webp, .gif, .bmp), "
        "texts (.txt) or recordings (.wav) of each class into a folder with its name, and zip the folders."
    )


def _count(files: Files, suffixes: tuple[str, ...]) -> int:
    return sum(name.lower().endswith(suffixes) for name in files.names)
